// SPDX-License-Identifier: MIT
// What verify() has read so far.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "migrate/ledger.h"
#include "migrate/verify.h"

namespace sluice::migrate {

/// A directory of the source.
struct VerifyNode {
  FolderId parent = 0;
  std::uint64_t name_hash = 0;
  std::uint32_t level = 0;
  // Of its blocks.
  std::uint32_t src_generation = 0;
  std::uint32_t src_chunks = 0;
  std::uint32_t dst_generation = 0;
  std::uint32_t dst_chunks = 0;
  bool reached = false;  ///< By its parent's block, or the root.
  bool dropped = false;  ///< It, or something above it, vanished and is about to go.
  bool excluded = false;
  bool has_src = false;  ///< A record.
  bool has_dst = false;
  bool src_optional = false;  ///< Its parent has not come to it.
  /// The destination of something above it is pending: what the ledger says of its own is of an
  /// earlier state of the source, and is only looked at by itself.
  bool unsettled = false;
  // What its parent's comparison says of it, if it has one.
  bool compared = false;
  Presence presence = Presence::present;
  bool set_attributes = false;
};

struct VerifyPending {
  std::uint32_t level = 0;
  PendingFolder folder = {};
};

/// One verify(): a snapshot, what was found, and the tables that are held against each other.
/// Memory: some hundred bytes per directory.
struct VerifyScan {
  kv::Reader& reader;
  VerifyReport& report;
  CompareRules rules = {};
  State state = {};
  std::array<std::unordered_map<FolderId, VerifyPending>, 2> pending = {};
  std::unordered_set<FolderId> drops = {};
  std::set<std::pair<FolderId, std::string>> exclusions = {};
  std::unordered_map<FolderId, VerifyNode> nodes = {};
  Tallies stored = {};
  Tallies counted = {};

  const VerifyPending* pending_on(Side side, FolderId id) const;
  /// A sentence with the invariant's number. Beyond a thousand they are not kept.
  void problem(unsigned invariant, std::string text);
  /// Damage is a problem; any other failure is the caller's.
  Status problem_if_corrupt(const Status& status, std::string_view what);
  void add(const Tallies& tallies);
};

/// Rows of a range, page by page, so that `visit` may read too.
Status each_row(kv::Reader& reader, kv::Range range,
                const std::function<Status(const kv::KeyValue& row)>& visit);

/// Looks at one directory that has a record: its place, its blocks, its share of the counters, its
/// planned work. Directories come in the order of their ids, so that parents come first.
Status verify_folder(VerifyScan& scan, FolderId id, const Folder& src);

std::uint64_t name_hash(std::string_view name);
/// "directory 12"
std::string directory_text(FolderId id);

}  // namespace sluice::migrate
