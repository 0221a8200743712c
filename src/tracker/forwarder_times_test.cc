// SPDX-License-Identifier: MIT
// What the engine measures.
#include <gtest/gtest.h>

#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

using Kind = SimMode::Kind;

std::uint64_t ns(Duration duration) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
}

TEST(ForwardTimes, answers_are_measured_by_upstream_and_silence_is_not) {
  ForwardBench bench(plain_options(), 3);
  bench.transport.set("u0", {.after = 20ms});
  bench.transport.set("u1", {.kind = Kind::failure, .after = 70ms});
  bench.transport.set("u2", {.kind = Kind::black_hole});
  EXPECT_EQ(bench.insight().upstreams[0].response_ns, nullptr);
  bench.announce(1, 1);
  bench.announce(2, 1);
  bench.run_for(5min);
  const ForwardInsight view = bench.insight();
  EXPECT_EQ(view.upstreams[0].response_ns->count(), 2u);
  EXPECT_EQ(view.upstreams[0].response_ns->sum(), ns(40ms));
  EXPECT_EQ(view.upstreams[1].response_ns->count(), view.upstreams[1].counts.refused);
  EXPECT_EQ(view.upstreams[1].response_ns->max(), ns(70ms));
  EXPECT_GT(view.upstreams[2].counts.unreachable, 0u);
  EXPECT_EQ(view.upstreams[2].response_ns, nullptr);
}

TEST(ForwardTimes, a_refresh_is_late_by_the_time_since_it_was_due) {
  ForwardBench bench;
  bench.announce(1, 1);
  EXPECT_EQ(bench.insight().lateness_ns->count(), 0u) << "nobody's clock asked for that";
  bench.run_for(1800s);
  EXPECT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.insight().lateness_ns->count(), 1u);
  EXPECT_EQ(bench.insight().lateness_ns->sum(), 0u);
  bench.clock.advance(1800s + 70ms);
  bench.run();
  EXPECT_EQ(bench.sent(), 3u);
  EXPECT_EQ(bench.insight().lateness_ns->count(), 2u);
  EXPECT_EQ(bench.insight().lateness_ns->sum(), ns(70ms));
}

TEST(ForwardTimes, so_is_a_retry_and_one_that_an_upstream_asked_for) {
  ForwardOptions options = plain_options();
  options.retry.base = 500ms;
  ForwardBench bench(options, 2);
  bench.transport.set("u0", {.kind = Kind::reset});
  bench.transport.set("u1", {.kind = Kind::retry, .retry_minutes = 1});
  bench.announce(1, 1);
  bench.transport.set_all({});
  bench.clock.advance(503ms);
  bench.run();
  EXPECT_EQ(bench.insight().lateness_ns->sum(), ns(3ms));
  bench.clock.advance(60s);
  bench.run();
  EXPECT_EQ(bench.insight().lateness_ns->count(), 2u);
  EXPECT_EQ(bench.insight().lateness_ns->sum(), ns(3ms + 503ms));
}

TEST(ForwardTimes, waiting_for_a_slot_is_lateness_too) {
  ForwardOptions options = plain_options();
  options.slots_base = 1;
  options.slots_max = 1;
  ForwardBench bench(options, 2);
  bench.announce(1, 1);
  bench.transport.set_all({.after = 2s});
  bench.run_for(1810s);
  EXPECT_EQ(bench.sent(), 4u);
  EXPECT_EQ(bench.insight().lateness_ns->count(), 2u);
  EXPECT_EQ(bench.insight().lateness_ns->sum(), ns(2s));
}

TEST(ForwardTimes, what_a_full_queue_put_off_is_late_since_its_first_time) {
  ForwardOptions options = plain_options();
  options.slots_base = 1;
  options.slots_max = 1;
  options.queue_capacity = 1;
  options.retry.base = 1s;
  ForwardBench bench(options, 1);
  bench.transport.set_all({.kind = Kind::reset});
  bench.announce(1, 1);
  // One runs for long and an urgent one fills the queue, when the retry is due.
  bench.transport.set_all({.after = 15s});
  bench.announce(2, 2);
  bench.put(3, 3);
  bench.run_for(30s);
  EXPECT_EQ(bench.insight().lateness_ns->count(), 1u);
  EXPECT_GE(bench.insight().lateness_ns->sum(), ns(options.full_delay));
}

TEST(ForwardTimes, waiting_for_an_upstream_that_rests_is_not) {
  ForwardBench bench;
  bench.announce(1, 1);
  bench.run_for(1790s);
  bench.transport.set_all({.kind = Kind::busy, .retry_after = 100s});
  bench.announce(2, 2);
  bench.transport.set_all({});
  bench.run_for(99s);
  EXPECT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.insight().scheduled, 2u) << "the refresh and the one that was refused";
  bench.run_for(2s);
  EXPECT_EQ(bench.sent(), 4u);
  EXPECT_EQ(bench.insight().lateness_ns->count(), 0u);
}

TEST(ForwardTimes, nor_is_the_time_that_an_upstream_was_disabled) {
  ForwardBench bench;
  bench.announce(1, 1);
  ASSERT_TRUE(bench.forwarder.disable("u0", "by hand").ok());
  bench.run_for(10'000s);
  ASSERT_TRUE(bench.forwarder.enable("u0").ok());
  bench.run_for(1s);
  EXPECT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.insight().lateness_ns->count(), 1u);
  EXPECT_EQ(bench.insight().lateness_ns->sum(), 0u);
}

}  // namespace
}  // namespace sluice::tracker
