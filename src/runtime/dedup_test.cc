// SPDX-License-Identifier: MIT
#include <sluice/runtime/dedup.h>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sluice::runtime {
namespace {

TEST(Dedup, a_key_is_held_once_until_its_scope_ends) {
  Dedup keys;
  {
    const auto hold = keys.hold("a");
    ASSERT_TRUE(hold);
    EXPECT_EQ(hold->key(), "a");
    EXPECT_FALSE(keys.hold("a"));
    EXPECT_TRUE(keys.hold("b"));
    EXPECT_TRUE(keys.held("a"));
    EXPECT_FALSE(keys.held("b"));
  }
  EXPECT_EQ(keys.size(), 0u);
  EXPECT_TRUE(keys.hold("a"));
}

TEST(Dedup, a_key_moves_with_its_hold) {
  Dedup keys;
  auto first = keys.hold("a");
  {
    const Dedup::Hold second = std::move(*first);
    first.reset();
    EXPECT_TRUE(keys.held("a"));
  }
  EXPECT_FALSE(keys.held("a"));
  auto a = keys.hold("a");
  auto b = keys.hold("b");
  *a = std::move(*b);
  b.reset();
  EXPECT_FALSE(keys.held("a"));
  EXPECT_TRUE(keys.held("b"));
}

TEST(Dedup, an_exception_lets_go) {
  Dedup keys;
  try {
    const auto hold = keys.hold("a");
    throw std::runtime_error("no");
  } catch (const std::runtime_error&) {
    EXPECT_FALSE(keys.held("a"));
  }
}

TEST(Dedup, a_hold_may_outlive_the_set) {
  auto keys = std::make_unique<Dedup>();
  const auto hold = keys->hold("a");
  keys.reset();
  EXPECT_EQ(hold->key(), "a");
}

TEST(Dedup, of_many_threads_one_gets_the_key) {
  Dedup keys;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> got{0}, ready{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        ++ready;
        while (ready < 4) std::this_thread::yield();
        const auto hold = keys.hold("k");
        got += hold ? 1 : 0;
        ++ready;
        while (ready < 8) std::this_thread::yield();
      });
    threads.clear();
    ASSERT_EQ(got, 1);
  }
}

}  // namespace
}  // namespace sluice::runtime
