// SPDX-License-Identifier: MIT
// How many workers a pool has: by the rule, over time, and while it ends.
#include <gtest/gtest.h>
#include <sluice/runtime/pool.h>

#include <string>
#include <vector>

#include "runtime/testing.h"

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Scale, one_comes_at_the_upper_mark_and_one_goes_below_the_lower) {
  const ScaleRule rule{.base = 2, .max = 4};
  struct Row {
    double fill;
    std::size_t workers;
    int step;
  };
  for (const Row& row :
       {Row{0.59, 2, 0}, Row{0.6, 2, 1}, Row{0.6, 3, 1}, Row{0.6, 4, 0}, Row{1.0, 4, 0},
        Row{0.4, 4, 0}, Row{0.39, 4, -1}, Row{0.0, 3, -1}, Row{0.0, 2, 0}, Row{2.0, 2, 1}})
    EXPECT_EQ(scale_step(rule, row.fill, row.workers), row.step)
        << row.fill << " of " << row.workers;
}

struct Bench {
  ManualClock clock;
  TurnExecutor executor;
  Pool<> pool;

  explicit Bench(ScaleRule rule)
      : pool(executor, {.queue = {.clock = &clock}, .workers = rule},
             [](const Work<>&) { return Outcome::done(); }) {}
  ~Bench() {
    (void)pool.cut_short();
    executor.run();
  }
  void fill(int jobs) {
    for (int i = 0; i < jobs; ++i) EXPECT_TRUE(pool.enqueue({.id = std::to_string(i)}));
  }
  /// The loop that scales is the one after the workers that there were at first.
  void scale(std::size_t base) { EXPECT_EQ(executor.step(base), LoopStep::again); }
};

TEST(PoolScale, workers_come_and_go_one_per_interval_with_the_backlog) {
  Bench bench({.base = 2, .max = 4, .full_depth = 10});
  EXPECT_EQ(bench.pool.workers(), 2u);
  bench.fill(6);
  EXPECT_EQ(bench.executor.step(2), LoopStep::idle) << "not before the interval is over";
  bench.clock.advance(1s);
  bench.scale(2);
  EXPECT_EQ(bench.pool.workers(), 3u);
  EXPECT_EQ(bench.executor.step(2), LoopStep::idle);
  bench.clock.advance(1s);
  bench.scale(2);
  bench.clock.advance(1s);
  bench.scale(2);
  EXPECT_EQ(bench.pool.workers(), 4u) << "never more than the most";
  bench.executor.run();
  EXPECT_EQ(bench.pool.counts().done, 6u);
  for (const std::size_t left : {3u, 2u, 2u}) {
    bench.clock.advance(1s);
    bench.executor.run();
    EXPECT_EQ(bench.pool.workers(), left);
  }
  bench.fill(1);
  bench.executor.run();
  EXPECT_EQ(bench.pool.counts().done, 7u) << "those who stay go on";
}

TEST(PoolScale, a_pool_that_stops_starts_nobody) {
  Bench bench({.base = 1, .max = 3, .full_depth = 1});
  bench.fill(5);
  (void)bench.pool.stop();
  bench.clock.advance(1s);
  bench.executor.run();
  EXPECT_EQ(bench.pool.workers(), 0u);
  EXPECT_EQ(bench.executor.size(), 0u);
  EXPECT_EQ(bench.pool.counts().done, 5u);
}

TEST(PoolScaleDeath, a_wrong_rule_stops_the_process) {
  TurnExecutor executor;
  const auto make = [&](PoolConfig config) {
    const Pool<> pool(executor, std::move(config), [](const Work<>&) { return Outcome::done(); });
  };
  EXPECT_DEATH(make({.workers = {.base = 0}}), "base");
  EXPECT_DEATH(make({.workers = {.base = 2, .max = 1}}), "max");
  EXPECT_DEATH(make({.workers = {.up_at = 0.3, .down_at = 0.4}}), "down_at");
  EXPECT_DEATH(make({.retry = {.attempts_max = 0}}), "attempts_max");
  EXPECT_DEATH(make({.retry = {.backoff = {.factor = 0.5}}}), "backoff");
}

}  // namespace
}  // namespace sluice::runtime
