// SPDX-License-Identifier: MIT
// The pool on threads and the machine's clock: handlers that throw, block, and enqueue.
#include <gtest/gtest.h>
#include <sluice/runtime/pool.h>

#include <atomic>
#include <functional>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/run_size.h"

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

void expect_adds_up(const PoolCounts& counts) {
  EXPECT_EQ(counts.enqueued, counts.done + counts.failed + counts.cancelled + counts.handed_back);
  EXPECT_EQ(counts.queued, 0u);
  EXPECT_EQ(counts.running, 0u);
}

TEST(PoolThreads, whatever_handlers_do_the_counts_add_up) {
  const std::uint64_t jobs = test::RunSize{500, 5'000, 100'000}.pick();
  ThreadExecutor threads;
  std::atomic<std::uint64_t> inside{0}, enqueued_inside{0};
  Pool<int>* self = nullptr;
  std::latch ready(1);
  Pool<int> pool(threads,
                 {.workers = {.base = 4, .max = 8, .full_depth = 100, .every = 1ms},
                  .retry = {.attempts_max = 3, .backoff = {.base = 10us, .cap = 1ms}}},
                 [&](const Work<int>& work) -> Outcome {
                   ready.wait();
                   ++inside;
                   if (work.payload % 7 == 0) throw std::runtime_error("no");
                   if (work.payload % 11 == 0) return Outcome::fail("never");
                   if (work.payload % 13 == 0 && work.attempt == 1) return Outcome::retry("once");
                   if (work.payload % 5 == 0 && self->enqueue({.id = "child", .payload = 1}))
                     ++enqueued_inside;
                   return Outcome::done();
                 });
  self = &pool;
  ready.count_down();
  for (std::uint64_t i = 1; i <= jobs; ++i)
    ASSERT_TRUE(pool.enqueue({.id = std::to_string(i),
                              .payload = static_cast<int>(i),
                              .priority = static_cast<std::int32_t>(i % 3),
                              .delay = i % 4 == 0 ? 100us : 0us}));
  const auto back = pool.stop();
  ASSERT_TRUE(pool.join().ok());
  const auto taken_back = pool.taken_back();
  const PoolCounts counts = pool.counts();
  EXPECT_EQ(counts.enqueued, jobs + enqueued_inside);
  EXPECT_EQ(counts.handed_back, back.size() + taken_back.size());
  EXPECT_EQ(inside, counts.done + counts.failed + counts.retried);
  expect_adds_up(counts);
}

TEST(PoolThreads, a_handler_that_blocks_past_the_stop_is_waited_for_and_told) {
  ThreadExecutor threads;
  std::latch running(1), told(1);
  Pool<> pool(threads, {}, [&](const Work<>& work) -> Outcome {
    running.count_down();
    const std::stop_callback on_stop(work.stop, [&] { told.count_down(); });
    told.wait();
    return Outcome::retry("cut short");
  });
  ASSERT_TRUE(pool.enqueue({.id = "stubborn"}));
  running.wait();
  EXPECT_TRUE(pool.stop().empty());
  EXPECT_EQ(pool.join(1ms).code(), Code::deadline_exceeded);
  EXPECT_EQ(pool.workers(), 1u);
  EXPECT_TRUE(pool.cut_short().empty());
  EXPECT_TRUE(pool.join().ok());
  EXPECT_EQ(pool.taken_back().size(), 1u);
  expect_adds_up(pool.counts());
}

TEST(PoolThreads, pools_come_and_go) {
  ThreadExecutor threads;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> done{0};
    {
      Pool<int> pool(threads, {.workers = {.base = 3, .max = 5, .every = 1ms}},
                     [&](const Work<int>&) {
                       ++done;
                       return Outcome::done();
                     });
      for (int i = 0; i < 10; ++i) ASSERT_TRUE(pool.enqueue({.payload = i}));
    }
    ASSERT_EQ(done, 10) << "the destructor lets the workers do what is ready";
  }
}

TEST(PoolThreads, workers_that_are_not_needed_leave_while_others_wait) {
  ThreadExecutor threads;
  std::atomic<int> done{0};
  Pool<int> pool(threads, {.workers = {.base = 1, .max = 4, .full_depth = 4, .every = 200us}},
                 [&](const Work<int>&) {
                   ++done;
                   done.notify_all();
                   return Outcome::done();
                 });
  for (int wave = 0; wave < 30; ++wave) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(pool.enqueue({.payload = i}));
    for (int seen = done; seen < (wave + 1) * 20; seen = done) done.wait(seen);
  }
  EXPECT_EQ(done, 600);
}

TEST(ThreadExecutor, a_loop_may_start_another_up_to_its_end) {
  std::atomic<int> ended{0};
  std::function<void(int)> start;  // Outlives the threads.
  {
    ThreadExecutor threads;
    start = [&](int left) {
      threads.start({.name = "a loop with a long name", .step = [&, left](Duration) {
                       if (left > 0) start(left - 1);
                       ++ended;
                       return LoopStep::finished;
                     }});
    };
    start(20);
  }
  EXPECT_EQ(ended, 21);
}

}  // namespace
}  // namespace sluice::runtime
