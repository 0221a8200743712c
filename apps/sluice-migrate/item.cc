// SPDX-License-Identifier: MIT
#include "sluice-migrate/item.h"

#include <algorithm>
#include <array>

#include "cli/output.h"
#include "cli/visible.h"
#include "migrate/tree.h"

namespace sluice::cli {
namespace {

using migrate::CopyStatus;
using migrate::Entry;
using migrate::Folder;
using migrate::Kind;
using migrate::TraversalStatus;
using migrate::Verdict;
using migrate::WalkItem;

constexpr std::size_t kOutputBytes = 1 << 16;

/// Of one that is there and not a directory that was listed by itself.
std::optional<TraversalStatus> plain_status(const Entry& entry) {
  if (entry.excluded) return TraversalStatus::excluded;
  if (entry.error != 0) return TraversalStatus::failed;
  return std::nullopt;
}

TraversalStatus folder_status(const Folder* folder) {
  return folder == nullptr ? TraversalStatus::pending : folder->status;
}

std::string folder_reason(std::string_view side, const Folder* folder) {
  if (!is_doubtful(folder)) return "";
  const std::string what = folder->changed ? std::string("changed while it was read")
                                           : migrate::errno_name(static_cast<int>(folder->error));
  return std::string(side) + ": " + what;
}

bool is_verdict(std::string_view name) {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Verdict::excluded); ++i)
    if (name == migrate::verdict_name(static_cast<Verdict>(i))) return true;
  return false;
}

bool is_traversal(std::string_view name) {
  for (std::uint8_t i = 0; i < migrate::kTraversalStatuses; ++i)
    if (name == migrate::status_name(static_cast<TraversalStatus>(i))) return true;
  return false;
}

bool is_copy(std::string_view name) {
  for (std::uint8_t i = 0; i < migrate::kCopyStatuses; ++i)
    if (name == migrate::status_name(static_cast<CopyStatus>(i))) return true;
  return false;
}

/// Those that mean the copy also without "copy:": the others are traversal statuses too.
bool is_plain_copy(std::string_view name) {
  return is_copy(name) && name != migrate::status_name(CopyStatus::pending) &&
         name != migrate::status_name(CopyStatus::successful);
}

bool is_status(std::string_view name) {
  if (name.starts_with("src:") || name.starts_with("dst:")) return is_traversal(name.substr(4));
  if (name.starts_with("copy:")) return is_copy(name.substr(5));
  return is_verdict(name) || is_traversal(name) || is_plain_copy(name);
}

bool named(std::optional<TraversalStatus> status, std::string_view name) {
  return status && migrate::status_name(*status) == name;
}

bool matches_one(const WalkItem& item, const SideStatuses& statuses, std::string_view name) {
  if (name.starts_with("src:")) return named(statuses.src, name.substr(4));
  if (name.starts_with("dst:")) return named(statuses.dst, name.substr(4));
  const auto copy = migrate::status_name(item.copy);
  if (name.starts_with("copy:")) return item.compared && copy == name.substr(5);
  const Verdict verdict = item.excluded ? Verdict::excluded : item.found.verdict;
  if (item.compared && migrate::verdict_name(verdict) == name) return true;
  if (named(statuses.src, name) || named(statuses.dst, name)) return true;
  return item.compared && item.copied != nullptr && is_plain_copy(name) && copy == name;
}

}  // namespace

SideStatuses statuses_of(const WalkItem& item) {
  SideStatuses statuses;
  const Entry* src = item.src;
  const Entry* dst = item.dst;
  const bool task = src != nullptr && src->id != 0;
  if (src != nullptr) {
    statuses.src = plain_status(*src);
    if (!statuses.src)
      statuses.src = task ? folder_status(item.src_folder) : TraversalStatus::successful;
  }
  if (dst != nullptr) {
    statuses.dst = plain_status(*dst);
    const bool matched = src != nullptr && src->kind == dst->kind;
    if (!statuses.dst && !matched) statuses.dst = TraversalStatus::not_on_src;
    if (!statuses.dst)
      statuses.dst = task ? folder_status(item.dst_folder) : TraversalStatus::successful;
  } else if (!item.compared) {
    statuses.dst = TraversalStatus::pending;
  } else if (item.found.verdict == Verdict::unknown) {
    statuses.dst = TraversalStatus::unknown;
  }
  if (!item.excluded) return statuses;
  if (statuses.src) statuses.src = TraversalStatus::excluded;
  if (statuses.dst) statuses.dst = TraversalStatus::excluded;
  return statuses;
}

bool is_doubtful(const Folder* folder) {
  return folder != nullptr && (folder->status == TraversalStatus::failed || folder->changed);
}

bool is_unknown_from_above(const WalkItem& item) {
  const auto unread = [](const Entry* entry) { return entry != nullptr && entry->error != 0; };
  return item.found.verdict == Verdict::unknown && !unread(item.src) && !unread(item.dst) &&
         !is_doubtful(item.src_folder) && !is_doubtful(item.dst_folder);
}

std::string reason_of(const WalkItem& item) {
  const bool undone = item.copy == CopyStatus::failed || item.copy == CopyStatus::skipped;
  if (item.copied != nullptr && undone && item.copied->error != 0)
    return migrate::reason_text(item.copied->error);
  std::string reason = folder_reason("src", item.src_folder);
  const std::string dst = folder_reason("dst", item.dst_folder);
  if (!reason.empty() && !dst.empty()) reason += ", ";
  reason += dst;
  if (reason.empty() && is_unknown_from_above(item)) return "a folder above it was not read";
  return reason;
}

Row::Row(const WalkItem& item) : reason_(reason_of(item)) {
  row_.path = item.path == "." ? std::string_view() : item.path;
  row_.src = item.src;
  row_.dst = item.dst;
  row_.comparison = item.found;
  if (item.excluded) row_.comparison = {.verdict = Verdict::excluded};
  if (!item.compared) row_.comparison = {.verdict = Verdict::unknown};
  // In doubt as a whole, whatever its attributes say.
  if (row_.comparison.verdict == Verdict::unknown) row_.comparison.differences = 0;
  if (item.compared) row_.copy = migrate::status_name(item.copy);
  if (!item.compared) reason_ = "not compared yet";
  row_.error = reason_;
}

std::string item_json(const WalkItem& item) {
  const SideStatuses statuses = statuses_of(item);
  const auto text = [](std::optional<TraversalStatus> status) {
    return status ? '"' + std::string(migrate::status_name(*status)) + '"' : std::string("null");
  };
  std::string line = migrate::json_line(*Row(item));
  line.resize(line.size() - 2);  // The brace and the line feed.
  return line + ",\"src_status\":" + text(statuses.src) + ",\"dst_status\":" + text(statuses.dst) +
         "}";
}

Result<StatusFilter> StatusFilter::make(const std::vector<std::string>& wanted) {
  StatusFilter filter;
  for (const std::string& name : wanted) {
    if (!is_status(name))
      return error(Code::invalid_argument,
                   "--status is " + in_quotes(name) +
                       ": it must be a verdict (same attributes content missing extra clash newer "
                       "unknown excluded), a status of listing (pending successful failed "
                       "not_on_src, also as src:failed or dst:failed) or of the copy "
                       "(copy:pending copy:successful skipped failed in-progress)");
    filter.wanted_.push_back(name);
  }
  return filter;
}

bool StatusFilter::matches(const WalkItem& item) const {
  const SideStatuses statuses = statuses_of(item);
  return std::ranges::any_of(
      wanted_, [&](const std::string& name) { return matches_one(item, statuses, name); });
}

Option status_option() {
  return {.name = "--status",
          .value = "S",
          .help = "only these: a verdict, or a status such as failed or copy:pending",
          .takes = Takes::state,
          .repeats = true};
}

Result<std::string> ledger_path(std::string_view text, const migrate::Settings& settings) {
  std::string_view rest = text;
  if (text.starts_with('/')) {
    const auto below = [&](std::string_view root) {
      return text.starts_with(root) && (text.size() == root.size() || text[root.size()] == '/');
    };
    const bool in_src = below(settings.src);
    if (!in_src && !below(settings.dst))
      return error(Code::invalid_argument, in_quotes(text) +
                                               " is in neither of the trees: write a "
                                               "path from their root, or one below " +
                                               settings.src);
    rest.remove_prefix(in_src ? settings.src.size() : settings.dst.size());
  }
  std::string path;
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view name = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..")
      return error(Code::invalid_argument,
                   in_quotes(text) + " has a \"..\": write a path from the root of the trees");
    path = migrate::join_path(path, name);
  }
  return path;
}

Result<migrate::Settings> settings_of(kv::Store& store) {
  migrate::Settings settings;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(kept, migrate::read_settings(reader));
    if (!kept) return {Code::not_found, "there is no ledger here"};
    settings = *std::move(kept);
    return {};
  }));
  return settings;
}

void Output::add(std::string_view text) {
  text_ += text;
  if (text_.size() >= kOutputBytes) flush();
}

void Output::flush() {
  write_all(1, text_);
  text_.clear();
}

}  // namespace sluice::cli
