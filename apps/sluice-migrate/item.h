// SPDX-License-Identifier: MIT
// One name of the two trees, as reports, ls and why tell of it.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "migrate/itemize.h"
#include "migrate/ledger.h"
#include "migrate/walk.h"

namespace sluice::cli {

/// The traversal statuses of one name; nothing for a side that does not have it.
struct SideStatuses {
  std::optional<migrate::TraversalStatus> src = {};
  std::optional<migrate::TraversalStatus> dst = {};
};
SideStatuses statuses_of(const migrate::WalkItem& item);

/// Why nothing more is known, or the copy did not do it; empty if there is no more to say.
std::string reason_of(const migrate::WalkItem& item);

/// Whether a directory could not be listed, or changed while it was.
bool is_doubtful(const migrate::Folder* folder);
/// Whether it is unknown only because of a directory above it, which has a line of its own.
bool is_unknown_from_above(const migrate::WalkItem& item);

/// A row of the report and what it points to. Lives no longer than the item.
class Row {
 public:
  explicit Row(const migrate::WalkItem& item);
  const migrate::ReportRow& operator*() const { return row_; }
  migrate::ReportRow& operator*() { return row_; }
  migrate::Verdict verdict() const { return row_.comparison.verdict; }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

 private:
  std::string reason_;
  migrate::ReportRow row_;
};

/// As a line of the JSON report, without its line feed, and with "src_status" and "dst_status".
std::string item_json(const migrate::WalkItem& item);

/// What --status asks for. A plain name is a verdict or the traversal status of either side, or
/// `failed`, `skipped` and `in-progress` of the copy; "src:", "dst:" and "copy:" say whose.
class StatusFilter {
 public:
  /// `invalid_argument` names what there is.
  static Result<StatusFilter> make(const std::vector<std::string>& wanted);
  bool empty() const { return wanted_.empty(); }
  bool matches(const migrate::WalkItem& item) const;

 private:
  std::vector<std::string> wanted_;
};
Option status_option();

/// A path as people write it ("./a//b/", or absolute below one of the roots) as the ledger has it;
/// the root is "". `invalid_argument` for one that leads out of the trees.
Result<std::string> ledger_path(std::string_view text, const migrate::Settings& settings);

/// What the ledger is of.
Result<migrate::Settings> settings_of(kv::Store& store);

/// Collects output, so that millions of lines are not as many system calls.
class Output {
 public:
  ~Output() { flush(); }
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void add(std::string_view text);
  void flush();

 private:
  std::string text_;
};

}  // namespace sluice::cli
