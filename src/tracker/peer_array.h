// SPDX-License-Identifier: MIT
// The peers of one swarm that have addresses of one family.
#pragma once

#include <sluice/random.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracker/announce.h"
#include "tracker/slot_index.h"

namespace sluice::tracker {

/// Which peers of an array a requester may be given: those from `begin` to `end`, but for itself.
struct Choice {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t own = kNowhere;  ///< Its own place, if that is between the two.

  std::uint32_t size() const { return end - begin - (own == kNowhere ? 0 : 1); }
};

/// Calls `take(from, to)` for the few ranges of places that make up `count` peers of the choice,
/// beginning with a random one. `count` is at most choice.size().
template <class Take>
void draw(const Choice& choice, std::uint32_t count, Random& random, const Take& take) {
  if (count == 0) return;
  // Counted without the requester.
  const auto line = [&](std::uint32_t from, std::uint32_t to) {
    const std::uint32_t gap = choice.own == kNowhere ? kNowhere : choice.own - choice.begin;
    if (from < std::min(to, gap)) take(choice.begin + from, choice.begin + std::min(to, gap));
    if (std::max(from, gap) < to)
      take(choice.begin + std::max(from, gap) + 1, choice.begin + to + 1);
  };
  const auto start = static_cast<std::uint32_t>(random.below(choice.size()));
  const std::uint32_t straight = std::min(count, choice.size() - start);
  line(start, start + straight);
  line(0, count - straight);
}

/// Peers side by side, as they go over the wire: first the seeders, then the leechers. An endpoint
/// is there at most once. Places change with every change of the array.
///
/// Cost: constant for each call, but for growing and shrinking, which copy everything and are as
/// rare as the array is large. Up to kScanMax peers there is no index and they are looked through.
/// Concurrency: as a std::vector.
template <std::size_t kWidth>
class PeerArray {
 public:
  using Compact = std::array<std::uint8_t, kWidth>;
  static constexpr std::size_t kScanMax = 24;

  /// What is known of a peer besides its endpoint.
  struct Known {
    PeerId id = {};
    std::uint32_t seen : 31 = 0;  ///< When, as stamp_of() (swarm.h) counts.
    std::uint32_t has_completed : 1 = 0;
  };

  explicit PeerArray(std::uint32_t seed) : seed_(seed) {}

  /// Its place, or kNowhere.
  std::uint32_t find(const Compact& endpoint) const;
  /// The new peer's place. The endpoint must not be there.
  std::uint32_t insert(const Compact& endpoint, const Known& known, bool is_seeder);
  /// The peer's place from now on.
  std::uint32_t set_seeder(std::uint32_t at, bool is_seeder);
  /// Only peers at `at` and behind it change places.
  void remove(std::uint32_t at);

  std::uint32_t size() const { return static_cast<std::uint32_t>(endpoints_.size()); }
  std::uint32_t seeders() const { return seeders_; }
  std::uint32_t leechers() const { return size() - seeders_; }
  bool is_seeder(std::uint32_t at) const { return at < seeders_; }
  const Compact& endpoint(std::uint32_t at) const { return endpoints_[at]; }
  const Known& known(std::uint32_t at) const { return known_[at]; }
  Known& known(std::uint32_t at) { return known_[at]; }
  std::size_t capacity() const { return endpoints_.capacity(); }

  /// A seeder has no use for other seeders.
  Choice choice(bool leechers_only, std::uint32_t own) const {
    const std::uint32_t begin = leechers_only ? seeders_ : 0;
    return {.begin = begin, .end = size(), .own = own != kNowhere && own >= begin ? own : kNowhere};
  }

 private:
  std::uint64_t hash_at(std::uint32_t at) const;
  void swap(std::uint32_t a, std::uint32_t b);
  void make_room();
  void shrink();
  void resize_to(std::size_t capacity);

  std::vector<Compact> endpoints_;
  std::vector<Known> known_;  // In the same order.
  SlotIndex index_;           // Of more than kScanMax peers.
  std::uint32_t seeders_ = 0;
  std::uint32_t seed_;
};

extern template class PeerArray<kCompactBytes4>;
extern template class PeerArray<kCompactBytes6>;

}  // namespace sluice::tracker
