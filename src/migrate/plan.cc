// SPDX-License-Identifier: MIT
#include "migrate/plan.h"

#include <bit>

namespace sluice::migrate {
namespace {

bool is_folder(const Entry* entry) {
  return entry != nullptr && entry->kind == Kind::folder;
}

}  // namespace

CopyStatus copy_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::missing:
    case Verdict::content:
    case Verdict::clash:
    case Verdict::attributes:
      return CopyStatus::pending;
    case Verdict::same:
      return CopyStatus::successful;
    case Verdict::extra:
    case Verdict::newer:
    case Verdict::unknown:
    case Verdict::excluded:
      break;
  }
  return CopyStatus::skipped;
}

bool is_task(const Entry& src) {
  return src.kind == Kind::folder && src.error == 0 && !src.excluded;
}

TraversalStatus status_on_src(const Entry& src) {
  if (src.excluded) return TraversalStatus::excluded;
  return src.error != 0 ? TraversalStatus::failed : TraversalStatus::successful;
}

TraversalStatus status_on_dst(const Entry* src, const Entry& dst) {
  if (dst.excluded) return TraversalStatus::excluded;
  if (dst.error != 0) return TraversalStatus::failed;
  const bool matched = src != nullptr && src->kind == dst.kind;
  return matched ? TraversalStatus::successful : TraversalStatus::not_on_src;
}

Presence presence_on_dst(const Entry* dst) {
  if (dst == nullptr) return Presence::absent;
  if (dst->excluded || dst->error != 0) return Presence::unknown;
  return is_folder(dst) ? Presence::present : Presence::absent;
}

std::optional<TraversalStatus> counted_in_parent(const Entry* src, const Entry* dst) {
  if (dst == nullptr) return std::nullopt;
  if (src != nullptr && src->id != 0 && presence_on_dst(dst) != Presence::absent)
    return std::nullopt;
  return status_on_dst(src, *dst);
}

Tallies NameCounts::at_level(std::uint32_t level) const {
  Tallies tallies;
  for (unsigned rows = used_; rows != 0; rows &= rows - 1) {
    const auto what = static_cast<std::size_t>(std::countr_zero(rows));
    for (std::size_t which = 0; which < kWhiches; ++which)
      if (numbers_[what][which] != 0)
        tallies.append({.what = static_cast<Tally>(what),
                        .level = level,
                        .which = static_cast<std::uint8_t>(which)},
                       numbers_[what][which]);
  }
  return tallies;
}

void count(NameCounts& counts, const CountedPair& pair) {
  const Entry& shown = pair.src != nullptr ? *pair.src : *pair.dst;
  counts.add(Tally::verdict, pair.verdict, 1);
  counts.add(Tally::verdict_bytes, pair.verdict, shown.size);
  if (pair.dst != nullptr) counts.add(Tally::dst_bytes, pair.verdict, pair.dst->size);
  if (const auto status = counted_in_parent(pair.src, pair.dst)) counts.add(Tally::dst, *status, 1);
  if (pair.src == nullptr) return;
  counts.add(is_folder(pair.src) ? Tally::copy_folders : Tally::copy_files, pair.copy, 1);
  // No bytes move where only attributes differ.
  if (pair.verdict != Verdict::attributes) counts.add(Tally::copy_bytes, pair.copy, pair.src->size);
}

void plan(std::set<WorkKey>& work, const WorkKey& directory, const Entry* src, Verdict verdict) {
  const auto add = [&](Pass pass, std::uint32_t chunk) {
    work.insert({.pass = pass, .level = directory.level, .id = directory.id, .chunk = chunk});
  };
  if (verdict == Verdict::extra)
    add(Pass::deletes, 0);
  else if (src == nullptr || copy_status(verdict) != CopyStatus::pending)
    return;
  else if (!is_folder(src))
    add(Pass::files, directory.chunk);
  else if (verdict == Verdict::attributes)
    return;  // Its own comparison plans that.
  else
    add(Pass::folders, 0);
  // Whatever is done in it changes its own time.
  add(Pass::attributes, 0);
}

}  // namespace sluice::migrate
