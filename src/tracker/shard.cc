// SPDX-License-Identifier: MIT
#include "tracker/shard.h"

namespace sluice::tracker {
namespace {

struct HashAt {
  const Swarm* first;
  std::uint64_t seed;
  std::uint64_t operator()(std::uint32_t at) const {
    return seeded_hash(first[at].hash().bytes, seed);
  }
};

}  // namespace

Swarm* Swarms::Shard::find(const InfoHash& hash, std::uint64_t hashed) {
  const Swarm* const first = swarms.data();
  const std::uint32_t at =
      index.find(hashed, [&](std::uint32_t place) { return first[place].hash() == hash; });
  return at == kNowhere ? nullptr : &swarms[at];
}

Swarm& Swarms::Shard::add(const InfoHash& hash, std::uint64_t hashed) {
  if (swarms.size() == swarms.capacity()) swarms.reserve(swarms.size() + swarms.size() / 2 + 4);
  if (!index.has_room(swarms.size())) rebuild_index();
  index.insert(hashed, static_cast<std::uint32_t>(swarms.size()));
  return swarms.emplace_back(hash, static_cast<std::uint32_t>(hashed >> 16));
}

void Swarms::Shard::remove(std::uint32_t at) {
  const auto last = static_cast<std::uint32_t>(swarms.size() - 1);
  if (at != last) {
    index.swap(hash_at(at), at, hash_at(last), last);
    std::swap(swarms[at], swarms[last]);
  }
  index.erase(hash_at(last), last, HashAt{swarms.data(), seed});
  swarms.pop_back();
  if (swarms.capacity() <= 16 || swarms.size() > swarms.capacity() / 4) return;
  std::vector<Swarm> fewer;
  fewer.reserve(swarms.size() + swarms.size() / 2 + 4);
  for (Swarm& swarm : swarms) fewer.push_back(std::move(swarm));
  swarms.swap(fewer);
  rebuild_index();
}

void Swarms::Shard::rebuild_index() {
  index.rebuild(swarms.size(), swarms.capacity(), HashAt{swarms.data(), seed});
}

}  // namespace sluice::tracker
