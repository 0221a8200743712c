// SPDX-License-Identifier: MIT
#include <sluice/runtime/limiter.h>

#include <gtest/gtest.h>
#include <sluice/random.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

constexpr BucketLimit kTenPerSecond{.tokens = 10, .per = 1s, .burst = 3};

TEST(Bucket, is_full_at_first_and_says_when_the_next_token_comes) {
  const ManualClock clock;
  Bucket bucket(kTenPerSecond, clock);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take().taken);
  const Take refused = bucket.take();
  EXPECT_FALSE(refused.taken);
  EXPECT_EQ(refused.ready_at, clock.mono() + 100ms);
  clock.advance(100ms - 1ns);
  EXPECT_FALSE(bucket.take().taken);
  clock.advance(1ns);
  EXPECT_TRUE(bucket.take().taken);
  EXPECT_FALSE(bucket.take().taken);
}

TEST(Bucket, holds_no_more_than_its_burst) {
  const ManualClock clock;
  Bucket bucket(kTenPerSecond, clock);
  clock.advance(1h);
  EXPECT_EQ(bucket.tokens(), 3u);
  EXPECT_FALSE(bucket.take(4).taken);
  EXPECT_EQ(bucket.take(4).ready_at, MonoTime::max());
  EXPECT_TRUE(bucket.take(3).taken);
  EXPECT_EQ(bucket.tokens(), 0u);
}

// However unevenly it is asked: what was given in a long time is exactly what the rate allows.
TEST(Bucket, loses_and_adds_nothing_over_a_long_time) {
  const ManualClock clock;
  SeededRandom random(3);
  Bucket bucket({.tokens = 7, .per = 1s, .burst = 1000}, clock);
  const MonoTime start = clock.mono();
  std::uint64_t taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    clock.advance(Duration(static_cast<Duration::rep>(random.below(20'000'000))));
    while (bucket.take().taken) ASSERT_LT(++taken, 10'000'000u);
  }
  const auto elapsed = static_cast<std::uint64_t>((clock.mono() - start).count());
  EXPECT_EQ(taken, 1000 + elapsed * 7 / 1'000'000'000);
}

TEST(Bucket, many_threads_get_no_more_than_there_is) {
  const ManualClock clock;
  Bucket bucket({.tokens = 1, .per = 1h, .burst = 1000}, clock);
  std::atomic<int> taken{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) taken += bucket.take().taken ? 1 : 0;
      });
  }
  EXPECT_EQ(taken, 1000);
}

TEST(Limiter, each_key_has_its_own_bucket) {
  const ManualClock clock;
  Limiter limiter({.limit = kTenPerSecond, .clock = &clock});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.take("a").taken);
  EXPECT_FALSE(limiter.take("a").taken);
  EXPECT_TRUE(limiter.take("b").taken);
}

TEST(Limiter, full_buckets_are_forgotten_and_nobody_notices) {
  const ManualClock clock;
  Limiter limiter({.limit = kTenPerSecond, .clock = &clock});
  // A bucket is full again after 100 ms, in which 10,000 others come.
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(limiter.take("other-" + std::to_string(i)).taken);
    clock.advance(10us);
    ASSERT_LE(limiter.size(), 2 * 10'001u + 1);
    if (i % 1000 != 0) continue;
    ASSERT_TRUE(limiter.take("mine", 3).taken) << "full again, whether it was kept or not";
    ASSERT_FALSE(limiter.take("mine").taken);
    clock.advance(300ms);
  }
}

TEST(Limiter, a_flood_of_new_keys_ends_at_the_limit_and_passes) {
  const ManualClock clock;
  Limiter limiter({.limit = kTenPerSecond, .keys_max = 5, .clock = &clock});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limiter.take(std::to_string(i)).taken);
  const Take refused = limiter.take("one more");
  EXPECT_FALSE(refused.taken);
  EXPECT_GT(refused.ready_at, clock.mono());
  EXPECT_TRUE(limiter.take("0").taken) << "who was there before goes on";
  clock.advance(100ms);
  EXPECT_TRUE(limiter.take("one more").taken) << "four of them are full again";
  EXPECT_EQ(limiter.size(), 2u);
}

TEST(LimiterDeath, a_wrong_limit_stops_the_process) {
  EXPECT_DEATH(Bucket({.tokens = 0}), "validate");
  EXPECT_DEATH(Limiter({.limit = {.burst = 0}}), "validate");
  EXPECT_DEATH(Limiter({.keys_max = 0}), "keys_max");
}

}  // namespace
}  // namespace sluice::runtime
