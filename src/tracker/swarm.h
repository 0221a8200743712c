// SPDX-License-Identifier: MIT
// The peers of one torrent.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracker/announce.h"
#include "tracker/peer_array.h"

namespace sluice::tracker {

/// One peer for those who want more than a compact list.
struct Peer {
  Endpoint endpoint = {};
  PeerId id = {};
  bool is_seeder = false;
  friend bool operator==(const Peer&, const Peer&) = default;
};

/// A peer that was not heard of for too long.
struct GonePeer {
  InfoHash hash = {};
  PeerId id = {};
};

/// A time in whole seconds, rounded down, for a peer to hold. Good from 34 years before the
/// machine was started until 34 years after.
std::uint32_t stamp_of(MonoTime time);

/// Which peers somebody is to be given.
struct Asked {
  bool is_v6 = false;
  bool both_families = false;  ///< Not only those of its own.
  bool is_seeder = false;      ///< It is given leechers only.
  std::uint32_t own = kNowhere;
  std::uint32_t count_max = 0;
};

/// A swarm is a value. Its peers are known by their endpoints.
///
/// Cost: as PeerArray. Concurrency: as a std::vector.
class Swarm {
 public:
  /// How far a search for old peers has come.
  struct Place {
    bool in_v6 = false;
    std::uint32_t left = kNowhere;  ///< Of that family. Counted down, for removals move only what
                                    ///< was looked at.
  };
  struct Expiry {
    std::uint32_t stamp_max = 0;  ///< Who was last seen then or before has to go.
    std::size_t budget = 0;       ///< How many peers may still be looked at.
    std::vector<GonePeer> gone = {};
  };

  Swarm(const InfoHash& hash, std::uint32_t seed) : hash_(hash), v4_(seed), v6_(seed) {}

  /// Enters what the peer tells of itself; `stopped` removes it. Returns its place in the array of
  /// its family, kNowhere if it is not there afterwards. A new one is left out unless `may_add`.
  std::uint32_t update(const Announce& announce, std::uint32_t stamp, bool may_add);
  /// Enters a peer that is remembered, unless its endpoint is there. True if it was entered.
  bool restore(const Peer& peer, std::uint32_t stamp, bool has_completed);
  void restore_downloads(std::uint32_t downloads) { downloads_ = downloads; }
  /// Goes on from `place`, and takes off the budget what it looks at. True if it came to the end.
  bool expire(Expiry& expiry, Place& place);

  /// Adds random peers, each at most once: as many as there are, or `count_max`.
  void give(const Asked& asked, Random& random, PeerList& into) const;
  void give(const Asked& asked, Random& random, std::vector<Peer>& into) const;
  /// The first of all, `count_max` at most.
  std::vector<Peer> peers(std::size_t count_max) const;

  const InfoHash& hash() const { return hash_; }
  std::uint32_t size() const { return v4_.size() + v6_.size(); }
  Counts counts() const {
    return {.seeders = v4_.seeders() + v6_.seeders(),
            .leechers = v4_.leechers() + v6_.leechers(),
            .downloads = downloads_};
  }
  const PeerArray<kCompactBytes4>& v4() const { return v4_; }
  const PeerArray<kCompactBytes6>& v6() const { return v6_; }

 private:
  template <class Array>
  std::uint32_t update_in(Array& array, const Announce& announce, std::uint32_t stamp,
                          bool may_add);
  template <class Take>
  void draw_peers(const Asked& asked, Random& random, const Take& take) const;

  InfoHash hash_;
  std::uint32_t downloads_ = 0;
  PeerArray<kCompactBytes4> v4_;
  PeerArray<kCompactBytes6> v6_;
};

}  // namespace sluice::tracker
