// SPDX-License-Identifier: MIT
#include <sluice/backoff.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sluice/random.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

Duration without_jitter(const BackoffPolicy& policy, unsigned attempt) {
  return backoff_delay(policy, attempt, 0);
}

TEST(Backoff, base_two_gives_two_four_eight_seconds) {
  const BackoffPolicy policy{.base = seconds(2), .factor = 2, .cap = hours(1)};
  EXPECT_EQ(without_jitter(policy, 1), seconds(2));
  EXPECT_EQ(without_jitter(policy, 2), seconds(4));
  EXPECT_EQ(without_jitter(policy, 3), seconds(8));
}

TEST(Backoff, the_first_delay_is_the_base_to_the_nanosecond) {
  const Duration odd = Duration::max() - Duration(3);
  EXPECT_EQ(without_jitter({.base = odd, .cap = Duration::max()}, 1), odd);
}

TEST(Backoff, a_factor_of_one_gives_the_same_delay_every_time) {
  const BackoffPolicy policy{.base = seconds(7), .factor = 1};
  EXPECT_EQ(without_jitter(policy, 1), seconds(7));
  EXPECT_EQ(without_jitter(policy, 1'000'000), seconds(7));
}

TEST(Backoff, the_cap_is_reached_and_not_passed) {
  const BackoffPolicy policy{.base = seconds(1), .factor = 2, .cap = seconds(16)};
  EXPECT_EQ(without_jitter(policy, 4), seconds(8));
  EXPECT_EQ(without_jitter(policy, 5), seconds(16));
  EXPECT_EQ(without_jitter(policy, 6), seconds(16));
}

TEST(Backoff, a_cap_below_the_base_is_every_delay) {
  const BackoffPolicy policy{.base = minutes(10), .cap = minutes(5)};
  EXPECT_EQ(without_jitter(policy, 1), minutes(5));
  EXPECT_EQ(without_jitter(policy, 2), minutes(5));
}

TEST(Backoff, the_largest_attempt_and_the_largest_numbers_do_not_overflow) {
  constexpr unsigned kLast = std::numeric_limits<unsigned>::max();
  EXPECT_EQ(without_jitter({.base = seconds(1), .cap = hours(1)}, kLast), hours(1));
  const BackoffPolicy extreme{.base = Duration::max(), .factor = 1e300, .cap = Duration::max()};
  for (unsigned attempt : {1u, 2u, 3u, kLast})
    EXPECT_EQ(without_jitter(extreme, attempt), Duration::max()) << attempt;
  EXPECT_EQ(without_jitter({.base = Duration(1), .cap = Duration::max()}, 63),
            Duration(INT64_C(1) << 62));
  EXPECT_EQ(without_jitter({.base = Duration(1), .cap = Duration::max()}, 64), Duration::max());
}

TEST(Backoff, a_base_of_zero_stays_zero) {
  const BackoffPolicy policy{.base = Duration::zero(), .factor = 1e300};
  for (unsigned attempt : {1u, 2u, 1000u})
    EXPECT_EQ(without_jitter(policy, attempt), Duration::zero()) << attempt;
}

TEST(Backoff, jitter_takes_away_its_share_in_proportion) {
  const BackoffPolicy policy{.base = seconds(8), .jitter = 0.5};
  EXPECT_EQ(backoff_delay(policy, 1, 0), seconds(8));
  EXPECT_EQ(backoff_delay(policy, 1, 0.5), seconds(6));
  EXPECT_EQ(backoff_delay(policy, 2, 0.5), seconds(12));
  // The cap comes before the jitter, so capped delays are spread too.
  const BackoffPolicy capped{.base = seconds(8), .cap = seconds(4), .jitter = 1};
  EXPECT_EQ(backoff_delay(capped, 9, 0.75), seconds(1));
}

RC_GTEST_PROP(Backoff, delays_never_fall_without_jitter_and_jitter_stays_in_its_share, ()) {
  SeededRandom draw(*rc::gen::arbitrary<std::uint64_t>());
  const BackoffPolicy steady{.base = Duration(draw.below(std::uint64_t{1} << draw.below(63))),
                             .factor = 1 + std::ldexp(draw.unit(), -int(draw.below(50))) * 4,
                             .cap = Duration(draw.below(std::uint64_t{1} << 63))};
  BackoffPolicy spread = steady;
  spread.jitter = draw.unit();
  Duration before = Duration::zero();
  for (unsigned attempt = 1; attempt < 200; ++attempt) {
    const Duration delay = without_jitter(steady, attempt);
    RC_ASSERT(delay >= before);
    RC_ASSERT(delay <= steady.cap);
    const Duration spread_delay = backoff_delay(spread, attempt, draw.unit());
    RC_ASSERT(spread_delay <= delay);
    const double least = double(delay.count()) * (1 - spread.jitter);
    RC_ASSERT(double(spread_delay.count()) >= least * (1 - 1e-12) - 1);
    before = delay;
  }
}

TEST(Backoff, a_policy_at_its_limits_is_valid) {
  EXPECT_TRUE(validate({}).ok());
  EXPECT_TRUE(validate({.base = Duration::zero(), .cap = Duration::zero()}).ok());
  EXPECT_TRUE(validate({.factor = kBackoffFactorMin}).ok());
  EXPECT_TRUE(validate({.jitter = kBackoffJitterMax}).ok());
}

TEST(Backoff, a_policy_past_its_limits_is_refused_by_name) {
  const auto refusal = [](const BackoffPolicy& policy) {
    const Status status = validate(policy);
    return status.code() == Code::invalid_argument ? status.message().substr(0, 11) : "accepted";
  };
  EXPECT_EQ(refusal({.base = Duration(-1)}), "backoff bas");
  EXPECT_EQ(refusal({.cap = Duration(-1)}), "backoff cap");
  for (double factor : {std::nextafter(kBackoffFactorMin, 0), -2.0, kInfinity, kNotANumber})
    EXPECT_EQ(refusal({.factor = factor}), "backoff fac") << factor;
  for (double jitter : {std::nextafter(kBackoffJitterMax, 2), -1e-300, kNotANumber})
    EXPECT_EQ(refusal({.jitter = jitter}), "backoff jit") << jitter;
}

TEST(BackoffDeath, broken_preconditions_stop_the_program) {
  EXPECT_DEATH(backoff_delay({}, 0, 0), "check failed");
  EXPECT_DEATH(backoff_delay({}, 1, 1), "check failed");
  EXPECT_DEATH(backoff_delay({.factor = 0}, 1, 0), "check failed");
}

}  // namespace
}  // namespace sluice
