// SPDX-License-Identifier: MIT
#include <sluice/runtime/timers.h>

#include <gtest/gtest.h>
#include <sluice/random.h>

#include <map>
#include <string>

#include "tests/support/run_size.h"

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

MonoTime at(int seconds) {
  return MonoTime(std::chrono::seconds(seconds));
}

TEST(Timers, come_in_the_order_of_their_times_and_of_one_time_in_the_order_given) {
  Timers<std::string> timers;
  timers.add(at(2), "c");
  timers.add(at(1), "a");
  timers.add(at(2), "d");
  timers.add(at(1), "b");
  std::string order;
  while (auto value = timers.pop_due(at(2))) order += *value;
  EXPECT_EQ(order, "abcd");
}

TEST(Timers, are_due_at_their_time_and_not_a_nanosecond_before) {
  Timers<int> timers;
  timers.add(at(1), 7);
  EXPECT_EQ(timers.next_due(), at(1));
  EXPECT_EQ(timers.pop_due(at(1) - 1ns), std::nullopt);
  EXPECT_EQ(timers.pop_due(at(1)), 7);
  EXPECT_EQ(timers.pop_due(at(1)), std::nullopt);
  EXPECT_EQ(timers.next_due(), std::nullopt);
}

TEST(Timers, a_cancelled_one_does_not_fire_and_its_handle_is_spent) {
  Timers<int> timers;
  const Handle first = timers.add(at(1), 1);
  timers.add(at(2), 2);
  EXPECT_EQ(timers.cancel(first), 1);
  EXPECT_EQ(timers.cancel(first), std::nullopt);
  EXPECT_FALSE(timers.reschedule(first, at(5)));
  EXPECT_EQ(timers.next_due(), at(2));
  const Handle third = timers.add(at(3), 3);  // Where the first one was.
  EXPECT_EQ(third.slot, first.slot);
  EXPECT_EQ(timers.cancel(first), std::nullopt);
  EXPECT_EQ(timers.size(), 2u);
}

TEST(Timers, a_rescheduled_one_fires_once_at_its_new_time_by_the_same_handle) {
  Timers<int> timers;
  const Handle handle = timers.add(at(1), 1);
  EXPECT_TRUE(timers.reschedule(handle, at(5)));
  EXPECT_EQ(timers.pop_due(at(4)), std::nullopt);
  EXPECT_TRUE(timers.reschedule(handle, at(3)));
  EXPECT_EQ(timers.pop_due(at(5)), 1);
  EXPECT_EQ(timers.pop_due(at(5)), std::nullopt);
  EXPECT_EQ(timers.cancel(handle), std::nullopt);
}

TEST(Timers, a_handle_that_was_never_given_names_nothing) {
  Timers<int> timers;
  EXPECT_EQ(timers.cancel({}), std::nullopt);
  timers.add(at(1), 1);
  EXPECT_EQ(timers.cancel({}), std::nullopt);
  EXPECT_EQ(timers.cancel({.slot = 9, .generation = 1}), std::nullopt);
}

// A plain map does the same, only more slowly.
TEST(Timers, agree_with_an_ordered_map_under_random_use) {
  const std::uint64_t seed = test::seed_or(7);
  std::cout << "SLUICE_SEED=" << seed << std::endl;
  SeededRandom random(seed);
  Timers<std::uint64_t> timers;
  std::map<std::pair<MonoTime, std::uint64_t>, std::uint64_t> expected;  // (due, order) -> value
  struct Known {
    Handle handle;
    std::pair<MonoTime, std::uint64_t> key;
  };
  std::vector<Known> known;
  std::uint64_t order = 0;
  MonoTime now{};
  const std::uint64_t steps = test::RunSize{20'000, 300'000, 5'000'000}.pick();
  for (std::uint64_t step = 0; step < steps; ++step) {
    const MonoTime due = now + Duration(static_cast<Duration::rep>(random.below(1000)));
    const std::uint64_t what = random.below(10);
    if (what < 4) {
      const auto key = std::pair(due, ++order);
      known.push_back({timers.add(due, step), key});
      expected.emplace(key, step);
    } else if (what < 8 && !known.empty()) {
      Known& one = known[random.below(known.size())];
      const auto found = expected.find(one.key);
      if (what < 6) {
        const auto value = timers.cancel(one.handle);
        ASSERT_EQ(value.has_value(), found != expected.end());
        if (value) {
          ASSERT_EQ(*value, found->second);
          expected.erase(found);
        }
        std::swap(one, known.back());
        known.pop_back();
      } else {
        ASSERT_EQ(timers.reschedule(one.handle, due), found != expected.end());
        if (found == expected.end()) continue;
        const std::uint64_t value = found->second;
        expected.erase(found);
        one.key = std::pair(due, ++order);
        expected.emplace(one.key, value);
      }
    } else {
      now += Duration(static_cast<Duration::rep>(random.below(100)));
      const bool is_due = !expected.empty() && expected.begin()->first.first <= now;
      const auto value = timers.pop_due(now);
      ASSERT_EQ(value.has_value(), is_due);
      if (!value) continue;
      ASSERT_EQ(*value, expected.begin()->second);
      expected.erase(expected.begin());
    }
    ASSERT_EQ(timers.size(), expected.size());
  }
}

}  // namespace
}  // namespace sluice::runtime
