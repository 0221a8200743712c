// SPDX-License-Identifier: MIT
#include "migrate/copy_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "migrate/folder_attempt.h"
#include "migrate/open_folder.h"
#include "migrate/stat_entry.h"
#include "migrate/stream.h"
#include "migrate/walk.h"

namespace sluice::migrate {
namespace {

CopyStatus counted_as(CopyOutcome outcome) {
  return outcome == CopyOutcome::failed ? CopyStatus::failed : CopyStatus::successful;
}

bool is_of_whole_folder(Pass pass) {
  return pass == Pass::folders || pass == Pass::deletes;
}

}  // namespace

Status CopyFolder::look_up() {
  return ground().store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(src, read_folder(reader, Side::src, work().id));
    SLUICE_LET(dst, read_folder(reader, Side::dst, work().id));
    if (!src || !dst) return {Code::corrupt, "work is planned on a directory without a record"};
    SLUICE_LET(path, read_path(reader, src->parent, src->name));
    src_ = std::move(*src);
    dst_ = std::move(*dst);
    path_ = std::move(path);
    results_ = CopyResults(work(), src_.parent);
    return results_.read(reader);
  });
}

void CopyFolder::open() {
  auto src = open_folder(ground().src.get(), path_, O_PATH);
  auto dst = open_folder(ground().dst.get(), path_, O_PATH);
  if (src) src_dir_ = std::move(*src);
  if (dst) dst_dir_ = std::move(*dst);
  if (!src) fault_ = src.error() == ENOENT ? kDriftedSrc : static_cast<std::uint32_t>(src.error());
  if (!dst) fault_ = dst.error() == ENOENT ? kNotCopied : static_cast<std::uint32_t>(dst.error());
}

Status CopyFolder::each_pair(const Pair& pair) {
  const bool whole = is_of_whole_folder(work().pass);
  BlockStream src(ground().store, {.part = Part::src,
                                   .id = work().id,
                                   .generation = src_.generation,
                                   .chunks = whole ? src_.chunks : work().chunk + 1});
  BlockStream dst(
      ground().store,
      {.part = Part::dst, .id = work().id, .generation = dst_.generation, .chunks = dst_.chunks});
  if (!whole) src.seek(work().chunk);
  const Status status = join(src, dst, [&](const Entry* s, const Entry* d) -> Status {
    if (stopped()) return {Code::cancelled, ""};
    return pair(s, d);
  });
  return status.code() == Code::cancelled ? leave() : status;
}

Status CopyFolder::note(const Entry& entry, const std::optional<Counted>& counted, Done done) {
  show(done);
  record(entry, counted, std::move(done));
  return {};
}

void CopyFolder::show(const Done& done) const {
  if (done.outcome == CopyOutcome::failed) ++ground().progress.failed;
  ++ground().progress.names;
}

void CopyFolder::record(const Entry& entry, const std::optional<Counted>& counted, Done done) {
  const bool good = done.outcome != CopyOutcome::failed;
  touched_ = touched_ || (good && work().pass != Pass::attributes);
  if (!good) outcome_.complete = false;
  done.entry.kind = entry.kind;
  const CopyStatus to = counted_as(done.outcome);
  const auto before = results_.put(entry.name, std::move(done));
  if (!counted) return;
  const CopyStatus from = before ? counted_as(*before) : CopyStatus::pending;
  move(counted->tally, from, to, 1);
  move(Tally::copy_bytes, from, to, counted->bytes);
}

void CopyFolder::move(Tally tally, CopyStatus from, CopyStatus to, std::uint64_t amount) {
  if (from == to || amount == 0) return;
  const std::uint32_t level = work().pass == Pass::attributes ? work().level : work().level + 1;
  Tallies& moved = outcome_.moved[results_.owner()];
  const auto count = static_cast<std::int64_t>(amount);
  moved[{.what = tally, .level = level, .which = static_cast<std::uint8_t>(from)}] -= count;
  moved[{.what = tally, .level = level, .which = static_cast<std::uint8_t>(to)}] += count;
}

Status CopyFolder::leave() {
  outcome_.complete = false;
  return {};
}

Removed CopyFolder::remove(const Entry& dst) {
  const Removed removed = dst.kind == Kind::folder
                              ? remove_tree(dst_dir(), dst, remove_rules(dst.name))
                              : remove_entry(dst_dir(), dst);
  outcome_.deleted += removed.entries;
  task_.deletes_left -= std::min(task_.deletes_left, removed.entries);
  ground().progress.deleted += removed.entries;
  return removed;
}

RemoveRules CopyFolder::remove_rules(std::string_view name) const {
  RemoveRules rules{.max = deletes_left()};
  if (ground().filters.empty()) return rules;
  rules.keep = [this, above = join_path(path_, name)](std::string_view below) {
    const std::string path = join_path(above, below);
    return ground().filters.matches(path.c_str() + path.rfind('/') + 1, path.c_str());
  };
  return rules;
}

CopyUnitOutcome CopyFolder::finish() {
  results_.write(outcome_.change);
  if (outcome_.complete) outcome_.change.erase(keys::work(work()));
  // An earlier run may have set the folder's own attributes when this was not yet done.
  if (touched_)
    outcome_.change.put(
        keys::work({.pass = Pass::attributes, .level = work().level, .id = work().id}), "");
  return std::move(outcome_);
}

bool CopyFolder::is_certain() const {
  return src_.status == TraversalStatus::successful && dst_.status == TraversalStatus::successful;
}

bool CopyFolder::is_left_out(const Entry& entry) const {
  return ground().is_excluded(work().id, entry.name);
}

Verdict CopyFolder::verdict(const Entry* src, const Entry* dst) const {
  return compare(src, dst, ground().options.settings.rules).verdict;
}

bool CopyFolder::is_folder_now(std::string_view name) const {
  const auto now = look_at(dst_dir(), name);
  return now && now->kind == Kind::folder;
}

}  // namespace sluice::migrate
