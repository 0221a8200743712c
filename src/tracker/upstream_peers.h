// SPDX-License-Identifier: MIT
// The peers that upstreams have named, for the replies to local clients.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>
#include <sluice/runtime/timers.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracker/announce.h"

namespace sluice::tracker {

/// For tables by InfoHash or PeerId.
struct HashBytes {
  template <class Id>
  std::size_t operator()(const Id& id) const {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
  }
};

/// The last good answer of each upstream to each torrent, until it is too old. An upstream that
/// fails leaves its last answer where it is.
///
/// Lifecycle: the owner calls expire() at next_expiry(); until then too old peers are given out.
/// Concurrency: not thread-safe.
/// Cost: pick() copies what it gives. The first one after a change of the torrent's peers takes
/// O(n log n) of all of them.
class UpstreamPeers {
 public:
  /// Replaces what that upstream said before. Of each family at most `peers_max` are kept.
  struct Answer {
    InfoHash hash = {};
    std::uint32_t upstream = 0;
    PeerList peers = {};
    MonoTime expires = {};
    std::size_t peers_max = 0;
  };
  void put(Answer answer);
  /// Up to `wanted` different peers, a random stretch of all. Both families get their share.
  PeerList pick(const InfoHash& hash, std::size_t wanted, Random& random);

  /// How many different ones there are. Costs as much as pick() without the copy.
  std::size_t count(const InfoHash& hash);

  void expire(MonoTime now);
  std::optional<MonoTime> next_expiry() { return timers_.next_due(); }
  void forget_upstream(std::uint32_t upstream);

  /// Answers that are kept.
  std::size_t size() const { return timers_.size(); }

 private:
  struct Key {
    InfoHash hash = {};
    std::uint32_t upstream = 0;
  };
  struct Kept {
    std::uint32_t upstream = 0;
    PeerList peers = {};
    runtime::Handle timer = {};
  };
  struct Torrent {
    std::vector<Kept> kept = {};
    PeerList merged = {};  ///< Without doubles.
    bool is_merged = false;
  };

  static const PeerList& merged_of(Torrent& torrent);

  runtime::Timers<Key> timers_;
  std::unordered_map<InfoHash, Torrent, HashBytes> torrents_;
};

}  // namespace sluice::tracker
