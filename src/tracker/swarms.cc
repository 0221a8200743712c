// SPDX-License-Identifier: MIT
#include "tracker/swarms.h"

#include <algorithm>
#include <chrono>

#include "tracker/seeded_hash.h"
#include "tracker/shard.h"

namespace sluice::tracker {
namespace {

void empty(PeerList& list) {
  list.v4.clear();
  list.v6.clear();
}
void empty(std::vector<Peer>& list) {
  list.clear();
}

}  // namespace

Swarms::Swarms(const SwarmsOptions& options, Random& random)
    : options_(options), seed_(random.next()), shards_(std::make_unique<Shard[]>(kShards)) {
  for (std::size_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[i];
    const MutexLock lock(shard.mutex);
    shard.seed = seed_;
    shard.random = QuickRandom(random.next());
  }
}

Swarms::~Swarms() = default;

std::uint64_t Swarms::hash_of(const InfoHash& hash) const {
  return seeded_hash(hash.bytes, seed_);
}

Swarms::Shard& Swarms::shard_of(std::uint64_t hash) const {
  static_assert(kShards == 256);
  return shards_[hash >> 56];
}

Swarms::Part Swarms::part_of(const Swarm& swarm) {
  return {.peers = swarm.size(), .seeders = swarm.counts().seeders, .peers_v6 = swarm.v6().size()};
}

void Swarms::count(const Part& before, const Part& after) {
  const auto add = [](std::atomic<std::uint64_t>& total, std::uint64_t from, std::uint64_t to) {
    if (from != to) total.fetch_add(to - from, std::memory_order_relaxed);
  };
  add(swarms_, before.peers == 0 ? 0 : 1, after.peers == 0 ? 0 : 1);
  add(peers_, before.peers, after.peers);
  add(seeders_, before.seeders, after.seeders);
  add(peers_v6_, before.peers_v6, after.peers_v6);
}

std::uint32_t Swarms::stamp_max(MonoTime now) const {
  const std::int64_t stamp = stamp_of(now);
  const auto age = std::chrono::floor<std::chrono::seconds>(options_.age).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(stamp - age, 0, stamp));
}

template <class Into>
Counts Swarms::announce_to(const Announce& announce, MonoTime now, const AnnounceOptions& options,
                           Into& into) {
  empty(into);
  const std::uint32_t stamp = stamp_of(now);
  const bool stops = announce.event == Event::stopped;
  const std::uint64_t hash = hash_of(announce.hash);
  Shard& shard = shard_of(hash);
  const MutexLock lock(shard.mutex);
  Swarm* swarm = shard.find(announce.hash, hash);
  if (swarm == nullptr) {
    if (stops || !has_room()) return {};
    swarm = &shard.add(announce.hash, hash);
  }
  const Part before = part_of(*swarm);
  const std::uint32_t own = swarm->update(announce, stamp, before.peers == 0 || has_room());
  count(before, part_of(*swarm));
  const Counts counts = swarm->counts();
  const std::uint32_t wanted = announce.wanted.value_or(options.wanted_default);
  if (!stops)
    swarm->give({.is_v6 = announce.endpoint.is_v6,
                 .both_families = options.both_families,
                 .is_seeder = announce.is_seeder(),
                 .own = own,
                 .count_max = std::min(wanted, options.wanted_max)},
                shard.random, into);
  if (swarm->size() == 0) shard.remove(shard.place_of(*swarm));
  return counts;
}

Counts Swarms::announce(const Announce& announce, MonoTime now, const AnnounceOptions& options,
                        PeerList& into) {
  return announce_to(announce, now, options, into);
}

Counts Swarms::announce(const Announce& announce, MonoTime now, const AnnounceOptions& options,
                        std::vector<Peer>& into) {
  return announce_to(announce, now, options, into);
}

Counts Swarms::scrape(const InfoHash& hash) const {
  const std::uint64_t hashed = hash_of(hash);
  Shard& shard = shard_of(hashed);
  const MutexLock lock(shard.mutex);
  const Swarm* const swarm = shard.find(hash, hashed);
  return swarm == nullptr ? Counts() : swarm->counts();
}

bool Swarms::knows(const InfoHash& hash) const {
  const std::uint64_t hashed = hash_of(hash);
  Shard& shard = shard_of(hashed);
  const MutexLock lock(shard.mutex);
  return shard.find(hash, hashed) != nullptr;
}

std::vector<Peer> Swarms::peers(const InfoHash& hash, std::size_t count_max) const {
  const std::uint64_t hashed = hash_of(hash);
  Shard& shard = shard_of(hashed);
  const MutexLock lock(shard.mutex);
  const Swarm* const swarm = shard.find(hash, hashed);
  return swarm == nullptr ? std::vector<Peer>() : swarm->peers(count_max);
}

Totals Swarms::totals() const {
  return {.swarms = swarms_.load(std::memory_order_relaxed),
          .peers = peers_.load(std::memory_order_relaxed),
          .seeders = seeders_.load(std::memory_order_relaxed),
          .peers_v6 = peers_v6_.load(std::memory_order_relaxed)};
}

std::vector<Swarm> Swarms::copy_shard(std::size_t shard) const {
  const MutexLock lock(shards_[shard].mutex);
  return shards_[shard].swarms;
}

std::size_t Swarms::restore(const SwarmRecord& record, MonoTime now) {
  const std::uint32_t oldest = stamp_max(now);
  const std::uint64_t hash = hash_of(record.hash);
  Shard& shard = shard_of(hash);
  const MutexLock lock(shard.mutex);
  if (shard.find(record.hash, hash) != nullptr) return 0;
  Swarm& swarm = shard.add(record.hash, hash);
  swarm.restore_downloads(record.downloads);
  for (const PeerRecord& peer : record.peers) {
    if (peers_.load(std::memory_order_relaxed) + swarm.size() >= options_.peers_max) break;
    if (peer.stamp > oldest) swarm.restore(peer.peer, peer.stamp, peer.has_completed);
  }
  count({}, part_of(swarm));
  const std::size_t entered = swarm.size();
  if (entered == 0) shard.remove(shard.place_of(swarm));
  return entered;
}

}  // namespace sluice::tracker
