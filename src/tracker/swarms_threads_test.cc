// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tracker/snapshot.h"
#include "tracker/swarms.h"
#include "tracker/swarms_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kThreads = 8;

/// Announces peers of its own to swarm 0 and to many small ones, then stops every second.
void come_and_go(Swarms& swarms, MonoTime now, std::uint32_t thread, std::uint32_t peers) {
  PeerList list;
  const auto tell = [&](std::uint32_t hash, std::uint32_t peer, Event event) {
    Announce announce = announce_of(hash, thread * peers + peer, peer % 5 == 0);
    announce.left = peer % 3;
    announce.event = event;
    swarms.announce(announce, now, {}, list);
    const auto endpoints = endpoints_of(list);
    ASSERT_EQ(std::set<Endpoint>(endpoints.begin(), endpoints.end()).size(), endpoints.size());
    ASSERT_FALSE(set_of(list).contains(announce.endpoint));
  };
  for (std::uint32_t peer = 0; peer < peers; ++peer) {
    tell(0, peer, Event::started);
    tell(1 + peer % 500, peer, Event::started);
    if (peer % 2 == 0) continue;
    tell(0, peer, Event::completed);
    tell(0, peer - 1, Event::stopped);
    tell(1 + (peer - 1) % 500, peer - 1, Event::stopped);
  }
}

TEST(SwarmsThreads, a_hot_swarm_and_many_small_ones_count_right_in_the_end) {
  const auto peers = static_cast<std::uint32_t>(test::RunSize{200, 2'000, 20'000}.pick());
  SeededRandom random(3);
  const ManualClock clock;
  Swarms swarms({}, random);
  std::atomic<bool> done{false};
  const test::TempDir dir;
  {
    const std::jthread keeper([&] {
      while (!done) {
        (void)swarms.expire(clock.mono(), 100);
        (void)swarms.scrape(hash_number(0));
        ASSERT_TRUE(write_snapshot(swarms, dir / "snapshot", clock));
      }
    });
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] { come_and_go(swarms, clock.mono(), thread, peers); });
    }
    done = true;
  }
  const Counts hot = swarms.scrape(hash_number(0));
  EXPECT_EQ(hot.seeders + hot.leechers, kThreads * peers / 2);
  EXPECT_EQ(hot.downloads, kThreads * peers / 2);
  std::uint64_t all = 0;
  std::uint64_t seeders = 0;
  for (std::uint32_t hash = 0; hash <= 500; ++hash) {
    const Counts counts = swarms.scrape(hash_number(hash));
    all += counts.seeders + counts.leechers;
    seeders += counts.seeders;
  }
  EXPECT_EQ(swarms.totals().peers, all);
  EXPECT_EQ(all, kThreads * peers);
  EXPECT_EQ(swarms.totals().seeders, seeders);
}

TEST(SwarmsThreads, expiry_on_several_threads_removes_everybody_once) {
  SeededRandom random(3);
  const ManualClock clock;
  Swarms swarms({.age = 1min}, random);
  PeerList list;
  for (std::uint32_t peer = 0; peer < 20'000; ++peer)
    swarms.announce(announce_of(peer % 3000, peer), clock.mono(), {}, list);
  clock.advance(1min);
  std::atomic<std::uint64_t> removed{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        while (swarms.totals().peers > 0) removed += swarms.expire(clock.mono(), 50).gone.size();
      });
  }
  EXPECT_EQ(removed, 20'000u);
  EXPECT_EQ(swarms.totals(), Totals{});
}

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(SwarmsMemory, a_peer_takes_no_more_than_150_bytes) {
  const auto peers =
      static_cast<std::uint32_t>(test::RunSize{100'000, 1'000'000, 1'000'000}.pick());
  for (const bool is_v6 : {false, true}) {
    SeededRandom random(5);
    const std::size_t before = bytes_in_use();
    Swarms swarms({}, random);
    PeerList list;
    for (std::uint32_t peer = 0; peer < peers; ++peer)
      swarms.announce(
          announce_of(static_cast<std::uint32_t>(random.below(peers / 10)), peer, is_v6), {},
          {.wanted_max = 0}, list);
    ASSERT_EQ(swarms.totals().peers, peers);
    const std::size_t used = bytes_in_use() - before;
    if (used == 0) GTEST_SKIP() << "this allocator does not say what is in use";
    test::print_figure(is_v6 ? "tracker.bytes_per_peer_v6" : "tracker.bytes_per_peer",
                       used / peers);
    EXPECT_LE(used / peers, 150u);
  }
}

}  // namespace
}  // namespace sluice::tracker
