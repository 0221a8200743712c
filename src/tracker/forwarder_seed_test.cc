// SPDX-License-Identifier: MIT
// The queue, its limits and its refusals, number by number.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

/// Nothing is answered, and nothing is sent: jobs stay in the queue until the bench runs.
ForwardOptions with_queue(std::int64_t capacity) {
  ForwardOptions options = plain_options();
  options.queue_capacity = capacity;
  options.throttle_top_n = 0;
  return options;
}
/// The queue holds `depth` jobs, each of a torrent of its own.
void fill(ForwardBench& bench, std::size_t depth) {
  for (std::uint32_t i = 0; bench.insight().depth < depth; ++i) bench.put(1'000'000 + i, 1);
}

TEST(ForwardSeed, the_queue_falls_back_to_its_capacity) {
  for (const auto& [set, got] : std::vector<std::pair<std::int64_t, std::size_t>>{
           {10'000, 10'000}, {1, 1}, {0, 1'000}, {-1, 1'000}}) {
    ForwardBench bench(with_queue(set));
    EXPECT_EQ(bench.insight().capacity, got) << set;
  }
  EXPECT_EQ(ForwardOptions().queue_capacity, 10'000);
}

TEST(ForwardSeed, fill_is_rounded_down) {
  ForwardBench bench(with_queue(300));
  fill(bench, 2);
  EXPECT_EQ(bench.insight().fill_pct, 0u);
  fill(bench, 3);
  EXPECT_EQ(bench.insight().fill_pct, 1u);
  fill(bench, 299);
  EXPECT_EQ(bench.insight().fill_pct, 99u);
  fill(bench, 300);
  EXPECT_EQ(bench.insight().fill_pct, 100u);
}

TEST(ForwardSeed, an_announce_reaches_at_most_a_hundred_upstreams) {
  for (const auto& [upstreams, told] :
       std::vector<std::pair<std::size_t, std::size_t>>{{99, 99}, {100, 100}, {101, 100}}) {
    ForwardBench bench(plain_options(), upstreams);
    bench.put(1, 1);
    EXPECT_EQ(bench.insight().depth, told);
    bench.put(1, 1);
    EXPECT_EQ(bench.insight().depth, upstreams) << "the next one reaches the others";
  }
}

TEST(ForwardSeed, a_queue_that_fills_reaches_twenty) {
  for (const auto& [depth, told] :
       std::vector<std::pair<std::size_t, std::size_t>>{{599, 100}, {600, 20}}) {
    ForwardOptions options = plain_options();
    options.queue_capacity = 1'000;
    ForwardBench bench(options);
    fill(bench, depth);
    EXPECT_EQ(bench.insight().fill_pct, depth / 10);
    ASSERT_TRUE(bench.forwarder.reload(upstreams_of(120)).ok());
    bench.put(1, 1);
    EXPECT_EQ(bench.insight().depth - depth, told);
    EXPECT_EQ(bench.insight().throttled, told == 20 ? 1u : 0u);
  }
}

TEST(ForwardSeed, the_smaller_of_both_limits_counts_and_none_turns_throttling_off) {
  for (const auto& [top_n, told] :
       std::vector<std::pair<std::uint32_t, std::size_t>>{{0, 30}, {5, 5}, {50, 30}}) {
    ForwardOptions options = plain_options();
    options.queue_capacity = 100;
    options.throttle_top_n = top_n;
    options.upstreams_per_announce_max = 30;
    ForwardBench bench(options, 1);
    fill(bench, 60);
    ASSERT_TRUE(bench.forwarder.reload(upstreams_of(40)).ok());
    bench.put(1, 1);
    EXPECT_EQ(bench.insight().depth - 60, told);
  }
}

TEST(ForwardSeed, upstreams_are_shuffled) {
  ForwardOptions options = plain_options();
  options.upstreams_per_announce_max = 1;
  ForwardBench bench(options, 10);
  for (std::uint32_t i = 0; i < 200; ++i) bench.put(i, 1);
  bench.run();
  for (int i = 0; i < 10; ++i) EXPECT_GT(bench.transport.count("u" + std::to_string(i)), 0u) << i;
}

TEST(ForwardSeed, nothing_is_told_before_it_is_due) {
  ForwardBench bench;
  bench.transport.set_all({.interval = 100s, .min_interval = 120s});
  bench.announce(1, 1);
  EXPECT_EQ(bench.sent(), 1u);
  bench.run_for(120s - 1ns);
  bench.announce(1, 1);
  EXPECT_EQ(bench.sent(), 1u) << "the longer of both";
  bench.run_for(1ns);
  EXPECT_EQ(bench.sent(), 2u) << "by itself";
}

TEST(ForwardSeed, in_mode_hash_one_peer_speaks_for_all) {
  ForwardOptions options = plain_options();
  options.mode = AnnounceMode::hash;
  ForwardBench bench(options);
  bench.announce(1, 1);
  bench.announce(1, 2);
  EXPECT_EQ(bench.sent(), 1u);
  bench.run_for(1800s);
  EXPECT_EQ(bench.sent(), 2u);
  bench.announce(1, 1, Event::stopped);
  EXPECT_EQ(bench.transport.count(Event::stopped), 1u);
  bench.announce(1, 2);
  EXPECT_EQ(bench.sent(), 4u) << "another takes over";
  bench.run_for(1800s);
  EXPECT_EQ(bench.sent(), 5u);
}

TEST(ForwardSeed, in_mode_peer_every_peer_speaks) {
  ForwardBench bench;
  bench.announce(1, 1);
  bench.announce(1, 2);
  bench.announce(1, 2);
  EXPECT_EQ(bench.sent(), 2u);
  bench.run_for(1800s);
  EXPECT_EQ(bench.sent(), 4u);
}

TEST(ForwardSeed, a_running_announce_is_not_repeated) {
  ForwardBench bench;
  bench.transport.set_all({.after = 10s});
  for (int i = 0; i < 1'000; ++i) bench.announce(1, 1);
  EXPECT_EQ(bench.sent(), 1u);
  bench.announce(1, 2);
  EXPECT_EQ(bench.sent(), 2u) << "another peer";
  EXPECT_EQ(bench.insight().pending, 2u);
  bench.run_for(10s);
  EXPECT_EQ(bench.insight().pending, 0u);
  EXPECT_EQ(bench.insight().jobs.created, 2u);
}

TEST(ForwardSeed, scheduled_doubles_of_a_torrent_are_refused) {
  ForwardBench bench;
  bench.transport.set_all({.kind = SimMode::Kind::retry, .after = 1s, .retry_minutes = 1});
  bench.announce(1, 1);
  bench.announce(1, 2);
  bench.announce(2, 1);
  bench.run_for(1s);
  EXPECT_EQ(bench.insight().scheduled, 2u) << "one of each torrent";
  EXPECT_EQ(bench.insight().jobs.failed, 1u);
  EXPECT_EQ(bench.insight().pending, 2u);
}

TEST(ForwardSeed, slots_follow_the_fill) {
  ForwardOptions options = with_queue(100);
  ForwardBench bench(options);
  bench.transport.set_all({.after = 1h});
  EXPECT_EQ(bench.insight().slots, 10u);
  EXPECT_EQ(bench.insight().slots_max, 20u);
  fill(bench, 10);
  bench.run();
  fill(bench, 59);
  bench.run_for(10s);
  EXPECT_EQ(bench.insight().slots, 10u) << "59 %";
  fill(bench, 61);
  bench.run_for(1s);
  EXPECT_EQ(bench.insight().slots, 11u);
  EXPECT_EQ(bench.insight().depth, 60u) << "the new slot is used";
  bench.run_for(1s);
  EXPECT_EQ(bench.insight().slots, 12u) << "60 %";
  bench.run_for(5s);
  EXPECT_EQ(bench.insight().slots, 12u) << "between the thresholds it stays";
  fill(bench, 100);
  bench.run_for(1min);
  EXPECT_EQ(bench.insight().slots, 20u);
}

TEST(ForwardSeed, slots_go_back_to_the_base) {
  ForwardBench bench(with_queue(100));
  bench.transport.set_all({.after = 1h});
  fill(bench, 100);
  bench.run_for(10s);
  ASSERT_EQ(bench.insight().slots, 20u);
  ASSERT_EQ(bench.insight().depth, 80u);
  for (std::uint32_t i = 0; bench.insight().depth > 40; ++i)
    bench.put(1'000'000 + 99 - i, 1, Event::stopped);
  bench.run_for(5s);
  EXPECT_EQ(bench.insight().slots, 20u) << "40 %";
  bench.put(1'000'000 + 99 - 40, 1, Event::stopped);
  ASSERT_EQ(bench.insight().depth, 39u);
  bench.run_for(1s);
  EXPECT_EQ(bench.insight().slots, 19u);
  bench.run_for(8s);
  EXPECT_EQ(bench.insight().slots, 11u);
  bench.run_for(10s);
  EXPECT_EQ(bench.insight().slots, 10u) << "never below the base";
}

TEST(ForwardSeed, an_idle_engine_is_not_woken) {
  ForwardBench bench;
  EXPECT_EQ(bench.forwarder.run_due(), MonoTime::max());
  bench.put(1, 1);
  EXPECT_EQ(bench.wakes, 1u);
  bench.run();
  EXPECT_EQ(bench.forwarder.run_due(), bench.clock.mono() + 1800s) << "the next announce";
  const std::size_t before = bench.wakes;
  bench.put(1, 1);
  EXPECT_EQ(bench.wakes, before) << "nothing was due";
  bench.put(2, 1);
  bench.put(3, 1);
  EXPECT_EQ(bench.wakes, before + 1) << "once is enough";
}

TEST(ForwardSeed, a_first_announce_needs_a_token_from_80_percent_on) {
  ForwardOptions options = with_queue(1'000);
  options.refuse_when_full = true;
  ForwardBench bench(options);
  fill(bench, 799);
  EXPECT_EQ(bench.insight().fill_pct, 79u);
  for (int i = 0; i < 300; ++i) EXPECT_FALSE(bench.put(1'000'000, 1, Event::none, HashSeen::first));
  fill(bench, 800);
  for (int i = 0; i < 200; ++i)
    EXPECT_FALSE(bench.put(1'000'000, 1, Event::none, HashSeen::first)) << i;
  const auto refusal = bench.put(1'000'000, 1, Event::none, HashSeen::first);
  ASSERT_TRUE(refusal);
  EXPECT_FALSE(refusal->why.empty());
  EXPECT_EQ(refusal->retry_in, 300s);
  EXPECT_EQ(bench.insight().rate_limited, 1u);
  EXPECT_FALSE(bench.put(1'000'000, 1)) << "later announces need none";
  bench.clock.advance(10ms);
  EXPECT_FALSE(bench.put(1'000'000, 1, Event::none, HashSeen::first)) << "100 a second";
  EXPECT_TRUE(bench.put(1'000'000, 1, Event::none, HashSeen::first));
  EXPECT_EQ(bench.insight().rate_limited, 2u);
  EXPECT_EQ(bench.insight().dropped_full, 0u);
}

TEST(ForwardSeed, a_full_queue_refuses_first_announces_and_drops_later_ones) {
  ForwardOptions options = with_queue(10);
  options.refuse_when_full = true;
  ForwardBench bench(options, 3);
  fill(bench, 10);
  const std::uint64_t before = bench.insight().dropped_full;
  EXPECT_EQ(before, 1u) << "the fourth announce had room for one of three";
  ASSERT_TRUE(bench.put(1, 1, Event::none, HashSeen::first));
  EXPECT_EQ(bench.insight().dropped_full, before + 1);
  EXPECT_FALSE(bench.put(1, 1));
  EXPECT_EQ(bench.insight().dropped_full, before + 2) << "and no further for that announce";
  EXPECT_EQ(bench.insight().depth, 10u);
  bench.run();
  EXPECT_EQ(bench.sent(), 10u);
  EXPECT_EQ(bench.insight().pending, 0u);
  bench.announce(1, 1);
  EXPECT_EQ(bench.sent(), 13u) << "what was dropped may come again at once";
}

TEST(ForwardSeed, a_refused_torrent_that_finds_the_queue_full_waits_for_its_client) {
  ForwardOptions options = with_queue(1);
  options.refuse_when_full = true;
  options.slots_base = 1;
  options.slots_max = 1;
  ForwardBench bench(options);
  bench.transport.set_all({.kind = SimMode::Kind::failure});
  bench.announce(1, 1);
  bench.transport.set_all({.after = 1h});
  bench.announce(2, 1);
  bench.announce(3, 1);
  bench.run_for(2min);
  EXPECT_EQ(bench.insight().dropped_full, 1u);
  EXPECT_EQ(bench.sent(), 2u);
}

TEST(ForwardSeed, a_full_queue_refuses_nobody_by_itself) {
  ForwardBench bench(with_queue(10));
  fill(bench, 10);
  EXPECT_FALSE(bench.put(1, 1, Event::none, HashSeen::first));
  EXPECT_EQ(bench.insight().depth, 10u);
  EXPECT_EQ(bench.insight().dropped_full, 1u);
  EXPECT_EQ(bench.insight().rate_limited, 0u);
  bench.run();
  EXPECT_EQ(bench.sent(), 10u);
  bench.run_for(10s);
  EXPECT_EQ(bench.sent(), 11u) << "it comes by itself";
}

TEST(ForwardSeed, a_scheduled_job_that_finds_the_queue_full_comes_later) {
  ForwardOptions options = with_queue(10);
  options.slots_base = 1;
  options.slots_max = 1;
  ForwardBench bench(options);
  bench.transport.set_all({.kind = SimMode::Kind::retry, .retry_minutes = 1});
  bench.announce(1, 1);
  ASSERT_EQ(bench.insight().scheduled, 1u);
  bench.transport.set_all({.after = 75s});
  bench.announce(2, 1);
  fill(bench, 10);
  bench.run_for(70s - 1ns);
  EXPECT_EQ(bench.insight().scheduled, 1u);
  EXPECT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.insight().next.at(0).time_to_run, 1ns) << "10 s after the first time";
  bench.run_for(1min);
  EXPECT_EQ(bench.insight().scheduled, 0u);
  EXPECT_EQ(bench.insight().jobs.dropped_total(), 0u);
}

TEST(ForwardSeed, no_scheduled_job_is_lost_when_the_queue_is_full) {
  ForwardOptions options = with_queue(500);
  ForwardBench bench(options, 10);
  bench.transport.set_all({.kind = SimMode::Kind::retry, .after = 10ms, .retry_minutes = 2});
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    bench.put(i, 1);
    bench.run_for(20ms);
  }
  const std::size_t waiting = bench.insight().scheduled;
  ASSERT_EQ(waiting, 10'000u - bench.insight().jobs.dropped_total());
  bench.transport.set_all({.after = 10ms, .interval = 24h});
  bench.clock.advance(2min);
  bench.run();
  ASSERT_EQ(bench.insight().depth, 500u) << "all are due, and most find no room";
  ASSERT_EQ(bench.insight().scheduled, waiting - 500 - bench.insight().running);
  for (int i = 0; i < 600 && bench.insight().pending > 0; ++i) {
    bench.run_for(1s);
    ASSERT_TRUE(bench.forwarder.verify().ok());
  }
  const ForwardInsight after = bench.insight();
  EXPECT_EQ(after.jobs.succeeded, waiting);
  EXPECT_EQ(after.pending, 0u);
  EXPECT_EQ(after.depth, 0u);
  EXPECT_EQ(after.jobs.dropped_total(), 0u);
}

TEST(ForwardSeed, the_next_ten_scheduled_jobs_are_listed) {
  ForwardBench bench;
  for (std::uint32_t i = 0; i < 12; ++i) {
    bench.transport.set_all({.kind = SimMode::Kind::retry, .retry_minutes = 9 - i % 3});
    bench.announce(i, 7);
  }
  const ForwardInsight view = bench.insight();
  ASSERT_EQ(view.next.size(), 10u);
  EXPECT_EQ(view.scheduled, 12u);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(view.next[i].time_to_run, i < 4 ? 7min : i < 8 ? 8min : 9min);
    EXPECT_EQ(view.next[i].peer, peer_of(7));
    EXPECT_EQ(view.next[i].upstream, "u0");
  }
}

}  // namespace
}  // namespace sluice::tracker
