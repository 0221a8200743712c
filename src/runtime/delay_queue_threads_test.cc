// SPDX-License-Identifier: MIT
// Threads that wait in a delay queue, on the machine's clock. Nothing here depends on how long
// something takes: only on that it happens at all.
#include <gtest/gtest.h>
#include <sluice/runtime/delay_queue.h>

#include <atomic>
#include <stop_token>
#include <thread>
#include <vector>

#include "tests/support/run_size.h"
#include "tests/support/waiting.h"

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;
using Queue = DelayQueue<int>;

// Longer than any test waits: nothing takes so long unless somebody was not woken.
constexpr Duration kLong = 24h;

// One waits for an item that is far away while another comes that is due earlier: whether the
// waiter sleeps already or is about to, it must notice.
TEST(DelayQueueThreads, no_wake_up_is_lost) {
  const std::uint64_t rounds = test::RunSize{300, 10'000, 100'000}.pick();
  Queue queue;
  std::atomic<std::uint64_t> taken{0};
  std::stop_source stop;
  std::jthread waiter([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const auto item = queue.dequeue(kLong, stop.get_token());
      if (!item) return;
      EXPECT_EQ(item->value, static_cast<int>(round));
      taken = round;
    }
  });
  ASSERT_TRUE(queue.enqueue(-1, {.delay = 10min}));
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const Duration delay = round % 3 == 0 ? 0us : round % 3 == 1 ? 1us : 50us;
    ASSERT_TRUE(queue.enqueue(static_cast<int>(round), {.delay = delay}));
    if (test::wait_until([&] { return taken >= round; }, Duration::zero())) continue;
    stop.request_stop();
    FAIL() << "not woken in round " << round;
  }
  waiter.join();
  EXPECT_EQ(queue.snapshot().depth, 1u);
  test::print_figure("runtime.wake_up_rounds", rounds);
}

TEST(DelayQueueThreads, what_becomes_due_at_once_wakes_as_many_as_it_can_serve) {
  for (int round = 0; round < 200; ++round) {
    Queue queue;
    std::atomic<int> served{0};
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 4; ++i)
      waiters.emplace_back([&] { served += queue.dequeue(kLong) ? 1 : 0; });
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue.enqueue(i, {.delay = 200us}));
    waiters.clear();
    ASSERT_EQ(served, 4);
  }
}

TEST(DelayQueueThreads, a_shutdown_wakes_everybody_who_waits) {
  for (int round = 0; round < 200; ++round) {
    Queue queue;
    ASSERT_TRUE(queue.enqueue(1, {.delay = kLong}));
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 4; ++i) waiters.emplace_back([&] { EXPECT_FALSE(queue.dequeue(kLong)); });
    if (round % 2 == 0) std::this_thread::yield();
    EXPECT_EQ(queue.shut_down().size(), 1u);
  }
}

TEST(DelayQueueThreads, a_stop_request_wakes_the_one_that_it_is_for) {
  Queue queue;
  std::jthread other([&] { EXPECT_EQ(queue.dequeue(kLong)->value, 7); });
  {
    const std::jthread stopped(
        [&](const std::stop_token& stop) { EXPECT_FALSE(queue.dequeue(kLong, stop)); });
  }
  ASSERT_TRUE(queue.enqueue(7));
}

TEST(DelayQueueThreads, a_time_limit_hands_over_the_watch_over_the_next_due_time) {
  for (int round = 0; round < 50; ++round) {
    Queue queue;
    ASSERT_TRUE(queue.enqueue(7, {.delay = 3ms}));
    std::jthread patient([&] { EXPECT_EQ(queue.dequeue(kLong)->value, 7); });
    // On a busy machine it may get the item after all.
    const std::jthread hasty([&] {
      if (const auto item = queue.dequeue(1ms)) {
        EXPECT_TRUE(queue.enqueue(item->value));
      }
    });
  }
}

// Whatever many threads do to one queue, each item comes out exactly once.
TEST(DelayQueueThreads, eight_threads_lose_and_double_nothing) {
  constexpr int kProducers = 4;
  const int each = static_cast<int>(test::RunSize{500, 5'000, 100'000}.pick());
  DelayQueue<int> queue({.items_max = 1000});
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(kProducers * each));
  std::atomic<int> cancelled{0};
  {
    std::vector<std::jthread> consumers;
    for (int i = 0; i < 4; ++i)
      consumers.emplace_back([&] {
        while (auto item = queue.dequeue(kLong)) ++seen[static_cast<std::size_t>(item->value)];
      });
    {
      std::vector<std::jthread> producers;
      for (int p = 0; p < kProducers; ++p)
        producers.emplace_back([&, p] {
          for (int i = 0; i < each; ++i) {
            const int value = p * each + i;
            const Duration delay = i % 3 == 0 ? Duration(i % 100) * 1000 : Duration{};
            auto handle = queue.enqueue(value, {.priority = i % 7, .delay = delay});
            while (!handle) {
              ASSERT_EQ(handle.error().code(), Code::limit_exceeded);
              std::this_thread::yield();
              handle = queue.enqueue(value, {.priority = i % 7, .delay = delay});
            }
            if (i % 11 == 0 && queue.reschedule(*handle, 10us)) (void)queue.snapshot();
            if (i % 13 == 0)
              if (const auto item = queue.cancel(*handle)) {
                ++seen[static_cast<std::size_t>(item->value)];
                ++cancelled;
              }
          }
        });
    }
    for (const auto& item : queue.shut_down()) ++seen[static_cast<std::size_t>(item.value)];
  }
  for (const auto& count : seen) ASSERT_EQ(count, 1);
  EXPECT_GT(cancelled, 0);
}

}  // namespace
}  // namespace sluice::runtime
