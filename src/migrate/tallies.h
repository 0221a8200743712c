// SPDX-License-Identifier: MIT
// Counters of a ledger.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::migrate {

/// Counters that commit with what they count. Stored as (what, level, which).
enum class Tally : std::uint8_t {
  src = 0,            ///< Entries of the source by TraversalStatus.
  dst = 1,            ///< Of the destination.
  verdict = 2,        ///< Names by Verdict.
  verdict_bytes = 3,  ///< Bytes of the source (of extra ones: of the destination) by Verdict.
  copy_files = 4,     ///< By CopyStatus, everything but folders.
  copy_folders = 5,   ///< By CopyStatus.
  copy_bytes = 6,     ///< By CopyStatus.
  drift = 7,          ///< By Drift: what a new listing found different from the one before.
  dst_bytes = 8,      ///< Bytes of the destination by Verdict.
};

struct TallyKey {
  Tally what = Tally::src;
  std::uint32_t level = 0;
  std::uint8_t which = 0;
  friend bool operator==(const TallyKey&, const TallyKey&) = default;
  friend auto operator<=>(const TallyKey& a, const TallyKey& b) { return a.code() <=> b.code(); }

 private:
  /// All three in one number, in the order in which they count.
  std::uint64_t code() const {
    return std::uint64_t{static_cast<std::uint8_t>(what)} << 40 | std::uint64_t{level} << 8 | which;
  }
};

/// Numbers by key, in the order of keys: a map, but in one piece, as there are few of them and they
/// are made for every directory.
class Tallies {
 public:
  using Row = std::pair<TallyKey, std::int64_t>;

  std::int64_t& operator[](const TallyKey& key) {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), key, kBefore);
    if (at != rows_.end() && at->first == key) return at->second;
    if (!rows_.empty()) return rows_.insert(at, Row(key, 0))->second;
    rows_.reserve(kUsually);
    return rows_.emplace_back(key, 0).second;
  }
  /// `key` is after all that are there.
  void append(const TallyKey& key, std::int64_t count) {
    if (rows_.empty()) rows_.reserve(kUsually);
    rows_.emplace_back(key, count);
  }
  /// Adds all of `others`, `sign` times.
  void add(const Tallies& others, std::int64_t sign) {
    make_room_for(others);
    auto at = rows_.begin();
    for (const Row& other : others.rows_) {
      while (at->first != other.first) ++at;
      at->second += sign * other.second;
    }
  }
  /// 0 if it is not there.
  std::int64_t get(const TallyKey& key) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), key, kBefore);
    return at != rows_.end() && at->first == key ? at->second : 0;
  }
  bool contains(const TallyKey& key) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), key, kBefore);
    return at != rows_.end() && at->first == key;
  }
  void erase(const TallyKey& key) {
    std::erase_if(rows_, [&](const Row& row) { return row.first == key; });
  }
  template <class Gone>
  void erase_if(const Gone& gone) {
    std::erase_if(rows_, gone);
  }
  void clear() { rows_.clear(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  friend bool operator==(const Tallies&, const Tallies&) = default;

 private:
  static constexpr auto kBefore = [](const Row& row, const TallyKey& key) {
    return row.first < key;
  };
  static constexpr std::size_t kUsually = 16;

  /// Adds a row of 0 for each key that is not there: merged from the back, each row moves once.
  void make_room_for(const Tallies& others) {
    std::size_t missing = others.rows_.size();
    auto at = rows_.begin();
    for (const Row& other : others.rows_) {
      while (at != rows_.end() && at->first < other.first) ++at;
      if (at != rows_.end() && at->first == other.first) --missing;
    }
    if (missing == 0) return;
    if (rows_.empty()) rows_.reserve(kUsually);
    std::size_t from = rows_.size();
    rows_.resize(rows_.size() + missing);
    auto to = rows_.end();
    for (auto other = others.rows_.rbegin(); missing > 0; ++other) {
      while (from > 0 && other->first < rows_[from - 1].first) *--to = rows_[--from];
      if (from > 0 && rows_[from - 1].first == other->first) continue;
      *--to = Row(other->first, 0);
      --missing;
    }
  }

  std::vector<Row> rows_;
};

}  // namespace sluice::migrate
