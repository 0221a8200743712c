// SPDX-License-Identifier: MIT
#include "tracker/swarm.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace sluice::tracker {
namespace {

constexpr std::uint32_t kStampMask = 0x7fff'ffff;

template <class Compact>
Compact compact_of(const Endpoint& endpoint) {
  Compact compact;
  constexpr std::size_t kAddress = sizeof compact - 2;
  std::memcpy(compact.data(), endpoint.address.data(), kAddress);
  compact[kAddress] = static_cast<std::uint8_t>(endpoint.port >> 8);
  compact[kAddress + 1] = static_cast<std::uint8_t>(endpoint.port & 0xff);
  return compact;
}

template <class Compact>
Endpoint endpoint_of(const Compact& compact) {
  constexpr std::size_t kAddress = sizeof compact - 2;
  Endpoint endpoint;
  std::memcpy(endpoint.address.data(), compact.data(), kAddress);
  endpoint.port = static_cast<std::uint16_t>(compact[kAddress] << 8 | compact[kAddress + 1]);
  endpoint.is_v6 = sizeof compact == kCompactBytes6;
  return endpoint;
}

template <class Array>
Peer peer_at(const Array& array, std::uint32_t at) {
  return {.endpoint = endpoint_of(array.endpoint(at)),
          .id = array.known(at).id,
          .is_seeder = array.is_seeder(at)};
}

template <class Array>
bool restore_in(Array& array, const Peer& peer, const typename Array::Known& known) {
  const auto endpoint = compact_of<typename Array::Compact>(peer.endpoint);
  if (array.find(endpoint) != kNowhere) return false;
  array.insert(endpoint, known, peer.is_seeder);
  return true;
}

template <class Array>
bool expire_in(Array& array, const InfoHash& hash, Swarm::Expiry& expiry, std::uint32_t& left) {
  left = std::min(left, array.size());
  for (; left > 0 && expiry.budget > 0; --expiry.budget) {
    if (array.known(--left).seen > expiry.stamp_max) continue;
    expiry.gone.push_back({hash, array.known(left).id});
    array.remove(left);
  }
  return left == 0;
}

/// How many of `count` come from the first of two groups: its share, rounded up or down at random.
std::uint32_t share_of(std::uint64_t first, std::uint64_t second, std::uint32_t count,
                       Random& random) {
  if (second == 0) return count;
  if (first == 0) return 0;
  const std::uint64_t all = first + second;
  return static_cast<std::uint32_t>((count * first + random.below(all)) / all);
}

}  // namespace

std::uint32_t stamp_of(MonoTime time) {
  constexpr std::int64_t kStart = std::int64_t{1} << 30;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(kStart + seconds, 0, std::int64_t{kStampMask}));
}

template <class Array>
std::uint32_t Swarm::update_in(Array& array, const Announce& announce, std::uint32_t stamp,
                               bool may_add) {
  const auto endpoint = compact_of<typename Array::Compact>(announce.endpoint);
  std::uint32_t at = array.find(endpoint);
  if (announce.event == Event::stopped) {
    if (at != kNowhere) array.remove(at);
    return kNowhere;
  }
  if (at == kNowhere && !may_add) return kNowhere;
  at = at == kNowhere ? array.insert(endpoint, {}, announce.is_seeder())
                      : array.set_seeder(at, announce.is_seeder());
  auto& known = array.known(at);
  known.id = announce.peer;
  known.seen = stamp & kStampMask;
  if (announce.event == Event::completed && !known.has_completed) {
    known.has_completed = 1;
    ++downloads_;
  }
  return at;
}

std::uint32_t Swarm::update(const Announce& announce, std::uint32_t stamp, bool may_add) {
  return announce.endpoint.is_v6 ? update_in(v6_, announce, stamp, may_add)
                                 : update_in(v4_, announce, stamp, may_add);
}

bool Swarm::restore(const Peer& peer, std::uint32_t stamp, bool has_completed) {
  const auto enter = [&](auto& array) {
    return restore_in(
        array, peer,
        {.id = peer.id, .seen = stamp & kStampMask, .has_completed = has_completed ? 1u : 0u});
  };
  return peer.endpoint.is_v6 ? enter(v6_) : enter(v4_);
}

bool Swarm::expire(Expiry& expiry, Place& place) {
  if (!place.in_v6) {
    if (!expire_in(v4_, hash_, expiry, place.left)) return false;
    place = {.in_v6 = true, .left = kNowhere};
  }
  return expire_in(v6_, hash_, expiry, place.left);
}

template <class Take>
void Swarm::draw_peers(const Asked& asked, Random& random, const Take& take) const {
  const Choice v4 = v4_.choice(asked.is_seeder, asked.is_v6 ? kNowhere : asked.own);
  const Choice v6 = v6_.choice(asked.is_seeder, asked.is_v6 ? asked.own : kNowhere);
  const std::uint32_t size4 = asked.is_v6 && !asked.both_families ? 0 : v4.size();
  const std::uint32_t size6 = asked.is_v6 || asked.both_families ? v6.size() : 0;
  const std::uint32_t count = std::min(asked.count_max, size4 + size6);
  const std::uint32_t count4 = share_of(size4, size6, count, random);
  draw(v4, count4, random, [&](std::uint32_t from, std::uint32_t to) { take(v4_, from, to); });
  draw(v6, count - count4, random,
       [&](std::uint32_t from, std::uint32_t to) { take(v6_, from, to); });
}

void Swarm::give(const Asked& asked, Random& random, PeerList& into) const {
  draw_peers(asked, random, [&](const auto& array, std::uint32_t from, std::uint32_t to) {
    constexpr std::size_t kWidth = sizeof array.endpoint(0);
    std::string& list = kWidth == kCompactBytes6 ? into.v6 : into.v4;
    list.append(reinterpret_cast<const char*>(&array.endpoint(from)), (to - from) * kWidth);
  });
}

void Swarm::give(const Asked& asked, Random& random, std::vector<Peer>& into) const {
  draw_peers(asked, random, [&](const auto& array, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t at = from; at < to; ++at) into.push_back(peer_at(array, at));
  });
}

std::vector<Peer> Swarm::peers(std::size_t count_max) const {
  std::vector<Peer> all;
  all.reserve(std::min<std::size_t>(count_max, size()));
  const auto add = [&](const auto& array) {
    for (std::uint32_t at = 0; at < array.size() && all.size() < count_max; ++at)
      all.push_back(peer_at(array, at));
  };
  add(v4_);
  add(v6_);
  return all;
}

}  // namespace sluice::tracker
