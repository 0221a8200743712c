// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <sluice/random.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tracker/swarms.h"
#include "tracker_parts.h"

namespace sluice::bench {
namespace {

using tracker::Announce;
using tracker::AnnounceOptions;
using tracker::PeerList;
using tracker::Swarms;

constexpr std::uint32_t kWanted = 30;

/// Peer `number` of swarm `hash`; two of three are leechers.
Announce announce_of(std::uint32_t hash, std::uint32_t number) {
  Announce announce{.left = number % 3, .wanted = kWanted};
  for (std::size_t i = 0; i < 4; ++i) {
    announce.hash.bytes[i] = static_cast<std::uint8_t>(hash >> (8 * i) & 0xff);
    announce.peer.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i) & 0xff);
    announce.endpoint.address[i] =
        static_cast<std::uint8_t>(number * 2654435761u >> (8 * i) & 0xff);
  }
  announce.endpoint.port = 6881;
  return announce;
}

/// Swarms, and announces of all their peers in random order.
struct Load {
  explicit Load(std::uint64_t seed) : random(seed), swarms({}, random) {}

  void add(std::uint32_t hash, std::uint32_t peers) {
    PeerList list;
    for (std::uint32_t i = 0; i < peers; ++i) {
      announces.push_back(announce_of(hash, i));
      swarms.announce(announces.back(), {}, {}, list);
    }
  }
  void shuffle() {
    for (std::size_t i = announces.size(); i > 1; --i)
      std::swap(announces[i - 1], announces[random.below(i)]);
  }
  /// `count` announces from some place on; how many bytes of peers were given.
  std::size_t run(std::size_t from, std::size_t count) {
    PeerList list;
    std::size_t given = 0;
    std::size_t at = from % announces.size();
    for (std::size_t i = 0; i < count; ++i) {
      swarms.announce(announces[at], {}, {}, list);
      given += list.v4.size();
      if (++at == announces.size()) at = 0;
    }
    return given;
  }

  SeededRandom random;
  Swarms swarms;
  std::vector<Announce> announces;
};

/// Nanoseconds of CPU for each of `count` announces, divided among threads.
double announce_ns(Load& load, std::size_t count, std::size_t threads) {
  const Stopwatch watch;
  {
    std::vector<std::jthread> crowd;
    for (std::size_t thread = 0; thread < threads; ++thread)
      crowd.emplace_back([&load, count, thread, threads] {
        (void)load.run(thread * load.announces.size() / threads, count / threads);
      });
  }
  return watch.read().cpu_seconds * 1e9 / static_cast<double>(count);
}

struct Round {
  double small = 0;
  double large = 0;
  double small_by_two = 0;
  double large_by_two = 0;
};

void measure_speed(const Part& part) {
  const std::size_t count = part.quick ? 200'000 : 1'000'000;
  Load small(1);
  for (std::uint32_t hash = 0; hash < 1000; ++hash) small.add(hash, 31 + hash % 20);
  small.shuffle();
  Load large(2);
  large.add(0, 50'000);
  large.shuffle();
  std::vector<Round> rounds(part.quick ? 5 : 11);
  for (Round& round : rounds) {
    round.small = announce_ns(small, count, 1);
    round.large = announce_ns(large, count, 1);
    round.small_by_two = announce_ns(small, count, 2);
    round.large_by_two = announce_ns(large, count, 2);
  }
  const auto ns = [&](double Round::* which) {
    return number(median_of(rounds, [&](const Round& r) { return r.*which; }));
  };
  const auto ratio = [&](double Round::* of, double Round::* to) {
    return median_of(rounds, [&](const Round& r) { return r.*of / r.*to; });
  };
  part.report.add({.what = "announce, one swarm of 50,000, 30 peers wanted: CPU ns",
                   .ours = ns(&Round::large),
                   .peer = ns(&Round::small) + " (1,000 swarms of 31 to 50)",
                   .figure = ratio(&Round::large, &Round::small),
                   .bar = Bar{"tracker_large_swarm", Bar::Kind::at_most, 1.1}});
  part.report.add({.what = "announce, 1,000 swarms, two threads: CPU ns",
                   .ours = ns(&Round::small_by_two),
                   .peer = ns(&Round::small) + " (one thread)",
                   .figure = ratio(&Round::small_by_two, &Round::small),
                   .bar = Bar{"tracker_two_threads", Bar::Kind::at_most, 1.15}});
  part.report.add({.what = "  the same, one swarm of 50,000",
                   .ours = ns(&Round::large_by_two),
                   .peer = ns(&Round::large) + " (one thread)",
                   .figure = ratio(&Round::large_by_two, &Round::large)});
}

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void measure_memory(const Part& part) {
  constexpr std::uint32_t kPeers = 1'000'000;
  SeededRandom random(3);
  const std::size_t before = bytes_in_use();
  Swarms swarms({}, random);
  PeerList list;
  for (std::uint32_t i = 0; i < kPeers; ++i)
    swarms.announce(announce_of(static_cast<std::uint32_t>(random.below(kPeers / 10)), i), {}, {},
                    list);
  const double each =
      static_cast<double>(bytes_in_use() - before) / static_cast<double>(swarms.totals().peers);
  part.report.add({.what = "1M peers of 100k hashes: bytes for each, with what malloc adds",
                   .ours = number(each),
                   .figure = each,
                   .bar = Bar{"tracker_peer_bytes", Bar::Kind::at_most, 150}});
  const Stopwatch watch;
  double longest = 0;
  tracker::Expired expired;
  while (!expired.round_over) {
    const Stopwatch step;
    expired = swarms.expire(MonoTime(std::chrono::hours(4)), Swarms::kExpireStep);
    longest = std::max(longest, step.read().cpu_seconds);
  }
  part.report.add({.what = "expiry of all of them: CPU ns for each",
                   .ours = number(watch.read().cpu_seconds * 1e9 / kPeers),
                   .peer = number(longest * 1e3) + " ms (the longest step of 1,024)",
                   .figure = longest * 1e3,
                   .bar = Bar{"expiry_hold_ms", Bar::Kind::at_most, 5}});
}

}  // namespace

Status measure_swarms(const Part& part) {
  measure_memory(part);
  measure_speed(part);
  return {};
}

}  // namespace sluice::bench
