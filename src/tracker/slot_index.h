// SPDX-License-Identifier: MIT
// Finds the elements of an array by their hash, in four bytes for a slot.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.h"

namespace sluice::tracker {

/// No element.
inline constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

/// A table of positions with open addressing. It knows neither elements nor hashes: whoever has the
/// array tells it both, always the same hash for the same element.
///
/// At most three quarters of the slots are taken, so a look takes two or three steps.
/// Concurrency: as a std::vector.
class SlotIndex {
 public:
  /// Whether there is room for one more than `count`.
  bool has_room(std::size_t count) const { return (count + 1) * 4 <= slots_.size() * 3; }
  bool made() const { return !slots_.empty(); }

  /// Forgets all, and holds positions 0 to `count` - 1, with room for `capacity`.
  template <class HashAt>
  void rebuild(std::size_t count, std::size_t capacity, const HashAt& hash_at) {
    std::vector<std::uint32_t>(std::bit_ceil(capacity + capacity / 3 + 2)).swap(slots_);
    for (std::uint32_t at = 0; at < count; ++at) insert(hash_at(at), at);
  }
  /// Forgets all and frees the memory.
  void clear() { std::vector<std::uint32_t>().swap(slots_); }

  /// The position with this hash for which `is_it(position)` holds, or kNowhere.
  template <class IsIt>
  std::uint32_t find(std::uint64_t hash, const IsIt& is_it) const {
    if (slots_.empty()) return kNowhere;
    for (std::size_t slot = hash & mask(); slots_[slot] != 0; slot = (slot + 1) & mask())
      if (is_it(slots_[slot] - 1)) return slots_[slot] - 1;
    return kNowhere;
  }
  /// There must be room.
  void insert(std::uint64_t hash, std::uint32_t at) {
    std::size_t slot = hash & mask();
    while (slots_[slot] != 0) slot = (slot + 1) & mask();
    slots_[slot] = at + 1;
  }
  /// Two elements change places: each is named with the hash and the position it has now.
  void swap(std::uint64_t hash_a, std::uint32_t a, std::uint64_t hash_b, std::uint32_t b) {
    const std::size_t slot_a = slot_of(hash_a, a);
    const std::size_t slot_b = slot_of(hash_b, b);
    slots_[slot_a] = b + 1;
    slots_[slot_b] = a + 1;
  }
  /// Every element must still be in the array.
  template <class HashAt>
  void erase(std::uint64_t hash, std::uint32_t at, const HashAt& hash_at) {
    std::size_t hole = slot_of(hash, at);
    for (std::size_t slot = (hole + 1) & mask(); slots_[slot] != 0; slot = (slot + 1) & mask()) {
      // It may fill the hole unless its search begins after the hole.
      const std::size_t home = hash_at(slots_[slot] - 1) & mask();
      if (((slot - home) & mask()) < ((slot - hole) & mask())) continue;
      slots_[hole] = slots_[slot];
      hole = slot;
    }
    slots_[hole] = 0;
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t slot_of(std::uint64_t hash, std::uint32_t at) const {
    std::size_t slot = hash & mask();
    while (slots_[slot] != at + 1) {
      SLUICE_CHECK(slots_[slot] != 0);
      slot = (slot + 1) & mask();
    }
    return slot;
  }

  std::vector<std::uint32_t> slots_;  // Position and one; 0: free. As many as a power of two.
};

}  // namespace sluice::tracker
