// SPDX-License-Identifier: MIT
#include "migrate/shared_loops.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace sluice::migrate {
namespace {

TEST(SharedLoops, every_number_is_called_once_and_in_order_if_nobody_helps) {
  int announced = 0;
  SharedLoops loops([&] { ++announced; });
  std::vector<std::size_t> called;
  const auto note = [&](std::size_t number) { called.push_back(number); };
  loops.run(0, note);
  EXPECT_TRUE(called.empty());
  loops.run(1, note);
  EXPECT_EQ(announced, 0) << "there is nothing in it for others";
  loops.run(3, note);
  EXPECT_EQ(called, (std::vector<std::size_t>{0, 0, 1, 2}));
  EXPECT_EQ(announced, 1);
  EXPECT_FALSE(loops.want_help());
  loops.help();  // There is nothing to do.
}

TEST(SharedLoops, two_threads_have_a_number_each_at_the_same_time) {
  std::latch begun(1);
  SharedLoops loops([&] { begun.count_down(); });
  std::latch both(2);
  std::jthread helper([&] {
    begun.wait();
    EXPECT_TRUE(loops.want_help());
    loops.help();
  });
  // Would wait for ever if one thread did all of it.
  loops.run(2, [&](std::size_t) { both.arrive_and_wait(); });
}

TEST(SharedLoops, a_loop_ends_when_the_last_helper_has_ended) {
  std::latch begun(1);
  std::latch helping(1);
  SharedLoops loops([&] { begun.count_down(); });
  std::atomic<int> ended = 0;
  const std::thread::id owner = std::this_thread::get_id();
  std::jthread helper([&] {
    begun.wait();
    loops.help();
  });
  loops.run(100, [&](std::size_t) {
    if (std::this_thread::get_id() == owner) {
      helping.wait();
    } else {
      // Its first and only number is the last to end.
      helping.count_down();
      while (ended < 99) std::this_thread::yield();
    }
    ++ended;
  });
  EXPECT_EQ(ended, 100);
}

TEST(SharedLoops, several_loops_of_several_threads_are_all_helped) {
  constexpr std::size_t kLoops = 50;
  constexpr std::size_t kNumbers = 40;
  SharedLoops loops([] {});
  std::atomic<bool> over = false;
  std::vector<std::atomic<int>> calls(2 * kLoops * kNumbers);
  {
    std::vector<std::jthread> helpers;
    for (int i = 0; i < 2; ++i)
      helpers.emplace_back([&] {
        while (!over) loops.want_help() ? loops.help() : std::this_thread::yield();
      });
    {
      std::vector<std::jthread> owners;
      for (std::size_t owner = 0; owner < 2; ++owner)
        owners.emplace_back([&, owner] {
          for (std::size_t loop = 0; loop < kLoops; ++loop)
            loops.run(kNumbers, [&](std::size_t number) {
              ++calls[(owner * kLoops + loop) * kNumbers + number];
            });
        });
    }
    over = true;
  }
  for (const auto& count : calls) ASSERT_EQ(count, 1);
}

}  // namespace
}  // namespace sluice::migrate
