// SPDX-License-Identifier: MIT
// Many torrents at many upstreams, some of them dead, on a clock that stands still.
#include <gtest/gtest.h>

#include <string>

#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

using Kind = SimMode::Kind;

ForwardOptions open_options(std::int64_t capacity) {
  ForwardOptions options;
  options.queue_capacity = capacity;
  options.throttle_top_n = 0;
  return options;
}
/// Until so many announces have succeeded; how long that took.
Duration time_to_deliver(ForwardBench& bench, std::uint64_t count, Duration most) {
  const MonoTime start = bench.clock.mono();
  while (bench.insight().jobs.succeeded < count && bench.clock.mono() - start < most)
    bench.run_for(10ms);
  return bench.clock.mono() - start;
}

TEST(ForwardLoad, fifty_torrents_reach_a_hundred_upstreams_at_once) {
  ForwardBench bench(open_options(10'000), 100);
  bench.transport.set_all({.after = 200ms});
  for (std::uint32_t hash = 0; hash < 50; ++hash) bench.put(hash, 1);
  EXPECT_LE(time_to_deliver(bench, 5'000, 10s), 1'500ms);
  EXPECT_EQ(bench.insight().jobs.succeeded, 5'000u);
  EXPECT_EQ(bench.insight().jobs.created, 5'000u);
}

TEST(ForwardLoad, black_holes_hold_only_their_own_slots) {
  ForwardBench bench(open_options(10'000), 100);
  bench.transport.set_all({.after = 200ms});
  for (int i = 0; i < 10; ++i)
    bench.transport.set("u" + std::to_string(i), {.kind = Kind::black_hole});
  for (std::uint32_t hash = 0; hash < 50; ++hash) bench.put(hash, 1);
  EXPECT_LE(time_to_deliver(bench, 4'500, 10s), 2s);
  EXPECT_EQ(bench.insight().jobs.succeeded, 4'500u);
  EXPECT_EQ(bench.insight().running, 40u);
  bench.run_for(3min);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(bench.insight().upstreams[i].state, i < 10 ? UpstreamState::open : UpstreamState::ok);
  bench.transport.set_all({.after = 200ms});
  Duration backoff = {};
  for (std::size_t i = 0; i < 10; ++i)
    backoff = std::max(backoff, bench.insight().upstreams[i].next_try);
  EXPECT_LE(backoff, 1h);
  bench.run_for(backoff + 32s);
  for (const UpstreamInsight& one : bench.insight().upstreams)
    EXPECT_EQ(one.state, UpstreamState::ok) << one.name << ": " << one.reason;
  bench.run_for(5s);
  EXPECT_EQ(bench.insight().pending, 0u);
}

TEST(ForwardLoad, even_if_most_are_black_holes_the_others_are_served) {
  ForwardBench bench(open_options(10'000), 100);
  bench.transport.set_all({.kind = Kind::black_hole});
  for (int i = 0; i < 20; ++i) bench.transport.set("u" + std::to_string(i), {.after = 200ms});
  for (std::uint32_t hash = 0; hash < 50; ++hash) bench.put(hash, 1);
  EXPECT_LE(time_to_deliver(bench, 1'000, 10s), 2s);
}

TEST(ForwardLoad, fifty_thousand_jobs_are_fine) {
  ForwardBench bench(open_options(100'000), 100);
  bench.transport.set_all({.after = 200ms});
  for (std::uint32_t hash = 0; hash < 500; ++hash) bench.put(hash, 1);
  EXPECT_EQ(bench.insight().pending, 50'000u);
  EXPECT_LE(time_to_deliver(bench, 50'000, 20s), 10s);
  EXPECT_LE(bench.transport.most_in_flight, 4'096u);
  for (const UpstreamInsight& one : bench.insight().upstreams) EXPECT_EQ(one.counts.ok, 500u);
}

TEST(ForwardLoad, what_a_full_queue_dropped_is_told_in_the_end) {
  ForwardOptions options;
  options.queue_capacity = 200;
  options.throttle_top_n = 0;
  ForwardBench bench(options, 10);
  bench.transport.set_all({.after = 200ms});
  for (std::uint32_t hash = 0; hash < 21; ++hash) bench.put(hash, 1);
  EXPECT_EQ(bench.insight().dropped_full, 1u);
  bench.run_for(11s);
  EXPECT_EQ(bench.insight().jobs.succeeded, 201u);
}

TEST(ForwardLoad, a_slow_upstream_lets_the_others_take_their_turns) {
  ForwardOptions options = open_options(10'000);
  options.slots_base = 4;
  options.slots_max = 4;
  options.in_flight_max = 1;
  options.in_flight_unproven_max = 1;
  ForwardBench bench(options, 4);
  bench.transport.set_all({.after = 100ms});
  bench.transport.set("u0", {.after = 20s});
  for (std::uint32_t hash = 0; hash < 20; ++hash) bench.put(hash, 1);
  bench.run_for(2s);
  EXPECT_EQ(bench.transport.count("u0"), 1u);
  for (const char* other : {"u1", "u2", "u3"}) EXPECT_EQ(bench.transport.count(other), 20u);
}

}  // namespace
}  // namespace sluice::tracker
