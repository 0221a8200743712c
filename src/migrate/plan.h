// SPDX-License-Identifier: MIT
// What a name of a compared directory means for the counters and for the copy. Pure: the
// comparison, verify() and exclude() count and plan by the same rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "migrate/compare.h"
#include "migrate/entry.h"
#include "migrate/ledger.h"

namespace sluice::migrate {

/// What is to be done about a name of the source, before anything has been.
CopyStatus copy_status(Verdict verdict);

/// Whether it is a directory that is listed by itself.
bool is_task(const Entry& src);
TraversalStatus status_on_src(const Entry& src);
/// `src`: the entry of the same name there, or null.
TraversalStatus status_on_dst(const Entry* src, const Entry& dst);

/// Whether a directory of the source is there on the destination too, by its parent's listing:
/// `dst` is the entry of its name, or null. What is there but excluded or unreadable is `unknown`:
/// nothing below it may be copied or deleted.
Presence presence_on_dst(const Entry* dst);

/// The status under which a name is counted by its parent's directory on the destination; nothing
/// for one that is not there, and for one that is counted by itself: a directory of the source that
/// is, or may be, there too.
std::optional<TraversalStatus> counted_in_parent(const Entry* src, const Entry* dst);

/// The counters that the names of one directory move, which are all at one level.
class NameCounts {
 public:
  template <class Which>
  void add(Tally what, Which which, std::uint64_t amount) {
    const auto row = static_cast<std::size_t>(what);
    numbers_[row][static_cast<std::size_t>(which)] += static_cast<std::int64_t>(amount);
    used_ |= 1u << row;
  }
  /// Those that are not zero.
  Tallies at_level(std::uint32_t level) const;

 private:
  static constexpr std::size_t kTallies = static_cast<std::size_t>(Tally::dst_bytes) + 1;
  /// Of verdicts, of which there are more than of statuses.
  static constexpr std::size_t kWhiches = static_cast<std::size_t>(Verdict::excluded) + 1;
  std::array<std::array<std::int64_t, kWhiches>, kTallies> numbers_ = {};
  unsigned used_ = 0;  // A bit for each row that may have a number.
};

/// Adds what one pair of entries (either may be null) contributes to its directory's counters of
/// the destination.
struct CountedPair {
  const Entry* src = nullptr;
  const Entry* dst = nullptr;
  Verdict verdict = Verdict::same;
  CopyStatus copy = CopyStatus::pending;  ///< Of the source's.
};
void count(NameCounts& counts, const CountedPair& pair);

/// Adds the steps that a pair asks for. `directory`: level and id of the directory that it is in,
/// and the chunk of the source's block.
void plan(std::set<WorkKey>& work, const WorkKey& directory, const Entry* src, Verdict verdict);

}  // namespace sluice::migrate
