// SPDX-License-Identifier: MIT
// All swarms of a tracker, in memory.
//
//   Swarms swarms({}, random);
//   PeerList peers;
//   const Counts counts = swarms.announce(announce, clock.mono(), {.wanted_max = 200}, peers);
//
// Now and then, from any thread:
//
//   swarms.expire(clock.mono(), 10'000);
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "tracker/announce.h"
#include "tracker/swarm.h"

namespace sluice::tracker {

struct SwarmsOptions {
  /// Peers that are not heard of for so long go. Counted in whole seconds.
  Duration age = std::chrono::minutes(180);
  /// Past so many a new peer is answered as any other, but not entered. As many more may get in as
  /// there are threads.
  std::uint64_t peers_max = 10'000'000;
};

struct AnnounceOptions {
  std::uint32_t wanted_default = 50;  ///< For who does not say.
  std::uint32_t wanted_max = 200;
  /// Peers of both families, in proportion to how many there are. Else only of the requester's,
  /// which is all that a UDP answer has room for.
  bool both_families = false;
};

struct Totals {
  std::uint64_t swarms = 0;
  std::uint64_t peers = 0;
  std::uint64_t seeders = 0;
  std::uint64_t peers_v6 = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

struct Expired {
  std::vector<GonePeer> gone = {};  ///< Those that were removed.
  /// All were looked at since the last time that this was true, but for a few perhaps that changed
  /// places meanwhile.
  bool round_over = false;
};

/// A peer as a snapshot remembers it.
struct PeerRecord {
  Peer peer = {};
  std::uint32_t stamp = 0;  ///< When it was seen last (stamp_of).
  bool has_completed = false;
};
struct SwarmRecord {
  InfoHash hash = {};
  std::uint32_t downloads = 0;
  std::vector<PeerRecord> peers = {};
};

/// The swarms, which exist while they have peers.
///
/// A peer is an endpoint: a client that starts again under a new id replaces itself, an answer
/// never names one place twice, and nobody can stop or move a peer whose id he has seen, as he
/// would have to send from its address. A client with addresses of both families is two peers. The
/// id and the role are those that it told last.
///
/// Concurrency: thread-safe. The swarms are divided by hash among kShards locks.
/// Cost: an announce costs the same whatever the size of the swarm. Memory, in swarms of ten: about
/// 65 bytes for an IPv4 peer and 80 for an IPv6 one.
/// Limits: a swarm that grows by half, or shrinks to a quarter, is copied under its lock. That
/// takes milliseconds if it has hundreds of thousands of peers.
class Swarms {
 public:
  static constexpr std::size_t kShards = 256;
  /// How many peers expire() looks at under one lock: well below a millisecond of work.
  static constexpr std::size_t kExpireStep = 1024;

  /// Draws its seeds from `random`, now.
  Swarms(const SwarmsOptions& options, Random& random);
  ~Swarms();
  Swarms(const Swarms&) = delete;
  Swarms& operator=(const Swarms&) = delete;

  /// Enters the peer, or removes it if it has `stopped`, and fills `into`, whose memory is used
  /// again, with other peers of the swarm: as many as there are, or as it wants and may have. They
  /// begin at a random one and are neighbours in memory. A seeder is given leechers only, a peer
  /// that stops nothing. `completed` counts as a download once for each peer. Peers that are too
  /// old are given until expire() finds them. The counts are those after the announce.
  Counts announce(const Announce& announce, MonoTime now, const AnnounceOptions& options,
                  PeerList& into);
  /// The same with ids, for answers that are not compact.
  Counts announce(const Announce& announce, MonoTime now, const AnnounceOptions& options,
                  std::vector<Peer>& into);

  /// Removes peers that are too old. Looks at `budget` peers or swarms at most and goes on there
  /// the next time; ends early when a round is over. Holds no lock for longer than kExpireStep of
  /// them take. One thread at a time, others wait.
  Expired expire(MonoTime now, std::size_t budget);

  /// Zeros if the hash is not known.
  Counts scrape(const InfoHash& hash) const;
  bool knows(const InfoHash& hash) const;
  /// `count_max` at most, no particular ones. Its cost, under the swarm's lock, is theirs.
  std::vector<Peer> peers(const InfoHash& hash, std::size_t count_max) const;
  /// Constant cost. While others announce, the four may be from different moments.
  Totals totals() const;
  const SwarmsOptions& options() const { return options_; }

  /// A copy of the swarms behind one lock, of 0 to kShards - 1.
  std::vector<Swarm> copy_shard(std::size_t shard) const;
  /// Enters what a snapshot holds, as far as there is room and it is not known already. Peers that
  /// are too old are left out. Returns how many were entered.
  std::size_t restore(const SwarmRecord& record, MonoTime now);

 private:
  struct Shard;
  /// A swarm's part in the totals.
  struct Part {
    std::uint64_t peers = 0;
    std::uint64_t seeders = 0;
    std::uint64_t peers_v6 = 0;
  };
  /// Where expire() goes on. Counted down, as removals move only what was looked at.
  struct Cursor {
    std::size_t shard = 0;
    std::size_t swarms_left = SIZE_MAX;
    Swarm::Place place = {};
  };

  template <class Into>
  Counts announce_to(const Announce& announce, MonoTime now, const AnnounceOptions& options,
                     Into& into);
  std::uint64_t hash_of(const InfoHash& hash) const;
  Shard& shard_of(std::uint64_t hash) const;
  static Part part_of(const Swarm& swarm);
  void count(const Part& before, const Part& after);
  bool has_room() const { return peers_.load(std::memory_order_relaxed) < options_.peers_max; }
  std::uint32_t stamp_max(MonoTime now) const;
  bool expire_in(Shard& shard, Cursor& cursor, Swarm::Expiry& expiry);

  const SwarmsOptions options_;
  const std::uint64_t seed_;
  const std::unique_ptr<Shard[]> shards_;

  // Written only when a peer comes, goes or changes its role.
  std::atomic<std::uint64_t> swarms_{0};
  std::atomic<std::uint64_t> peers_{0};
  std::atomic<std::uint64_t> seeders_{0};
  std::atomic<std::uint64_t> peers_v6_{0};

  Mutex expiry_mutex_;
  Cursor cursor_ SLUICE_GUARDED_BY(expiry_mutex_);
};

}  // namespace sluice::tracker
