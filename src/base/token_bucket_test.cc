// SPDX-License-Identifier: MIT
#include <sluice/token_bucket.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sluice/random.h>

#include <limits>
#include <vector>

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr Duration kStart = hours(1000);
constexpr BucketLimit kThreePerSecond{.tokens = 3, .per = seconds(1), .burst = 1};

// Small awkward numbers, so that rounding happens all the time.
BucketLimit draw_limit(Random& random) {
  const std::uint64_t per = 1 + random.below(1 + random.below(1000));
  return {.tokens = 1 + random.below(per), .per = Duration(per), .burst = 1 + random.below(9)};
}

TEST(TokenBucket, a_full_bucket_gives_its_burst_and_then_says_when) {
  const BucketLimit limit{.tokens = 10, .per = seconds(1), .burst = 5};
  const BucketTake all = take(limit, full_bucket(limit, kStart), kStart, 5);
  ASSERT_TRUE(all.taken);
  EXPECT_EQ(all.state.tokens, 0u);
  EXPECT_EQ(all.ready_at, kStart);
  const BucketTake more = take(limit, all.state, kStart, 2);
  EXPECT_FALSE(more.taken);
  EXPECT_EQ(more.ready_at, kStart + milliseconds(200));
  EXPECT_EQ(more.state, all.state);
  // A refusal later on leaves nothing to store either.
  EXPECT_EQ(take(limit, all.state, kStart + milliseconds(150), 2).state, all.state);
}

TEST(TokenBucket, an_idle_bucket_fills_up_to_its_burst_only) {
  const BucketLimit limit{.tokens = 10, .per = seconds(1), .burst = 5};
  const BucketState empty{.as_of = kStart};
  EXPECT_EQ(refill(limit, empty, kStart + milliseconds(100) - Duration(1)).tokens, 0u);
  EXPECT_EQ(refill(limit, empty, kStart + milliseconds(100)).tokens, 1u);
  EXPECT_EQ(refill(limit, empty, kStart + milliseconds(500)).tokens, 5u);
  EXPECT_EQ(refill(limit, empty, kStart + hours(9)).tokens, 5u);
}

TEST(TokenBucket, a_third_of_a_second_is_rounded_up_each_time_and_never_adds_up) {
  BucketState state = take(kThreePerSecond, full_bucket(kThreePerSecond, kStart), kStart, 1).state;
  for (std::int64_t at : {333'333'334, 666'666'667, 1'000'000'000, 1'333'333'334}) {
    EXPECT_EQ(take(kThreePerSecond, state, kStart, 1).ready_at, kStart + Duration(at));
    state = take(kThreePerSecond, state, kStart + Duration(at), 1).state;
  }
}

TEST(TokenBucket, three_per_second_is_exactly_300000_in_100000_seconds) {
  BucketState state = full_bucket(kThreePerSecond, kStart);
  Duration now = kStart;
  std::uint64_t taken = 0;
  for (int asked = 0; asked < 1'000'000 && now <= kStart + seconds(100'000); ++asked) {
    const BucketTake got = take(kThreePerSecond, state, now, 1);
    taken += got.taken ? 1 : 0;
    state = got.state;
    now = got.ready_at;
  }
  EXPECT_EQ(taken, 300'000u + kThreePerSecond.burst);
}

RC_GTEST_PROP(TokenBucket, a_saturating_taker_gets_every_token_at_its_exact_instant, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const BucketLimit limit = draw_limit(random);
  const std::uint64_t per = limit.per.count();
  BucketState state = full_bucket(limit, kStart);
  for (std::uint64_t taken = limit.burst; taken > 0; --taken)
    state = take(limit, state, kStart, 1).state;
  for (std::uint64_t token = 1; token < 300; ++token) {
    // Token number k beyond the burst is there after k * per / tokens, rounded up.
    const Duration exact = kStart + Duration((token * per + limit.tokens - 1) / limit.tokens);
    const Duration asked = std::max(state.as_of, exact - Duration(random.below(3)));
    const BucketTake early = take(limit, state, asked, 1);
    RC_ASSERT(early.taken == (asked == exact));
    RC_ASSERT(early.ready_at == exact);
    state = take(limit, state, exact, 1).state;
  }
}

RC_GTEST_PROP(TokenBucket, no_window_has_more_than_burst_and_rate_allow, ()) {
  struct Grant {
    Duration at;
    std::uint64_t tokens;
  };
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const BucketLimit limit = draw_limit(random);
  BucketState state = full_bucket(limit, kStart);
  Duration now = kStart;
  std::vector<Grant> grants;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t n = 1 + random.below(limit.burst);
    const BucketTake got = take(limit, state, now, n);
    if (got.taken) grants.push_back({now, n});
    state = got.state;
    now = random.chance(0.6) ? got.ready_at : now + Duration(random.below(2 * limit.per.count()));
  }
  for (std::size_t first = 0; first < grants.size(); ++first) {
    std::uint64_t sum = 0;
    for (std::size_t last = first; last < grants.size(); ++last) {
      sum += grants[last].tokens;
      const std::uint64_t window = (grants[last].at - grants[first].at).count() + 1;
      RC_ASSERT(sum * limit.per.count() <= limit.burst * limit.per.count() + limit.tokens * window);
    }
  }
}

RC_GTEST_PROP(TokenBucket, refilling_in_steps_is_the_same_as_at_once, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const BucketLimit limit = draw_limit(random);
  const BucketState start{.as_of = kStart, .tokens = random.below(limit.burst + 1)};
  BucketState stepped = start;
  Duration now = kStart;
  for (int i = 0; i < 20; ++i) {
    now += Duration(random.below(1 + limit.per.count()));
    stepped = refill(limit, stepped, now);
    RC_ASSERT(stepped == refill(limit, start, now));
  }
}

TEST(TokenBucket, time_running_backwards_keeps_the_tokens) {
  const BucketLimit limit{.tokens = 1, .per = seconds(1), .burst = 5};
  const BucketState state = take(limit, full_bucket(limit, kStart), kStart, 2).state;
  EXPECT_EQ(refill(limit, state, kStart - hours(1)), state);
  const BucketTake got = take(limit, state, kStart - hours(1), 3);
  EXPECT_TRUE(got.taken);
  EXPECT_EQ(take(limit, got.state, kStart - hours(1), 1).ready_at, kStart + seconds(1));
}

RC_GTEST_PROP(TokenBucket, a_clock_that_swings_creates_nothing_and_loses_nothing, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const BucketLimit limit = draw_limit(random);
  BucketState swung = full_bucket(limit, kStart), steady = swung;
  Duration latest = kStart;
  for (int i = 0; i < 100; ++i) {
    const Duration now = kStart + Duration(random.below(1 + 4 * limit.per.count()));
    latest = std::max(latest, now);
    const BucketTake of_swung = take(limit, swung, now, 1);
    const BucketTake of_steady = take(limit, steady, latest, 1);
    RC_ASSERT(of_swung.taken == of_steady.taken);
    swung = refill(limit, of_swung.state, now);
    steady = refill(limit, of_steady.state, latest);
    RC_ASSERT(swung == steady);
  }
}

TEST(TokenBucket, a_take_of_the_burst_waits_and_of_one_more_never_succeeds) {
  const BucketLimit limit{.tokens = 1, .per = seconds(1), .burst = 5};
  const BucketState empty{.as_of = kStart};
  EXPECT_EQ(take(limit, empty, kStart, 5).ready_at, kStart + seconds(5));
  EXPECT_TRUE(take(limit, empty, kStart + seconds(5), 5).taken);
  EXPECT_EQ(take(limit, empty, kStart, 6).ready_at, Duration::max());
  EXPECT_FALSE(take(limit, empty, kStart + hours(1), 6).taken);
  EXPECT_TRUE(take(limit, empty, kStart, 0).taken);
}

TEST(TokenBucket, a_smaller_limit_takes_the_surplus_away) {
  const BucketState rich{.as_of = kStart, .tokens = 1000, .part = 999'999'999};
  const BucketLimit small{.tokens = 1, .per = Duration(10), .burst = 5};
  const BucketState left = refill(small, rich, kStart);
  EXPECT_EQ(left.tokens, 5u);
  EXPECT_LT(left.part, 10u);
  // A part of the old, longer period is still only a part of one token.
  const BucketState almost_one{.as_of = kStart, .part = 999'999'999};
  EXPECT_EQ(refill(small, almost_one, kStart).tokens, 0u);
}

TEST(TokenBucket, the_extremes_do_not_overflow) {
  const BucketLimit fastest{.tokens = kMost / 2, .per = Duration::max(), .burst = kMost};
  const BucketState empty{.as_of = Duration::min()};
  // All the time there is brings one token per nanosecond of it.
  EXPECT_EQ(refill(fastest, empty, Duration::max()).tokens, kMost);
  EXPECT_EQ(take(fastest, empty, Duration::min(), kMost).ready_at, Duration::max());
  EXPECT_EQ(take(fastest, empty, Duration::min(), kMost - 1).ready_at,
            Duration::max() - Duration(1));
  const BucketLimit slowest{.tokens = 1, .per = Duration::max(), .burst = kMost};
  EXPECT_EQ(refill(slowest, empty, Duration::max()).tokens, 2u);
  EXPECT_EQ(take(slowest, empty, Duration::min(), 2).ready_at, Duration::max() - Duration(1));
  EXPECT_EQ(take(slowest, empty, Duration::min(), 3).ready_at, Duration::max());
  EXPECT_EQ(take(slowest, empty, Duration::max(), kMost).ready_at, Duration::max());
  const BucketState absurd{.as_of = Duration::min(), .tokens = kMost, .part = kMost};
  EXPECT_EQ(refill(slowest, absurd, Duration::max()).tokens, kMost);
}

TEST(TokenBucket, a_limit_is_valid_up_to_its_edges_and_refused_past_them) {
  const auto code = [](const BucketLimit& limit) { return validate(limit).code(); };
  EXPECT_EQ(code({}), Code::ok);
  EXPECT_EQ(code({.tokens = 0}), Code::invalid_argument);
  EXPECT_EQ(code({.per = Duration(1)}), Code::ok);
  EXPECT_EQ(code({.per = Duration(0)}), Code::invalid_argument);
  EXPECT_EQ(code({.per = Duration::min()}), Code::invalid_argument);
  EXPECT_EQ(code({.burst = 0}), Code::invalid_argument);
  EXPECT_EQ(code({.burst = kMost}), Code::ok);
  const std::uint64_t most = 1000 * kBucketTokensPerNanosecondMax;
  EXPECT_EQ(code({.tokens = most, .per = Duration(1000)}), Code::ok);
  EXPECT_EQ(code({.tokens = most + 1, .per = Duration(1000)}), Code::invalid_argument);
}

TEST(TokenBucketDeath, an_invalid_limit_stops_the_program) {
  EXPECT_DEATH(take({.tokens = 0}, {}, kStart, 1), "check failed");
}

}  // namespace
}  // namespace sluice
