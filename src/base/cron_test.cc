// SPDX-License-Identifier: MIT
#include "base/cron.h"

#include <gtest/gtest.h>
#include <sluice/clock.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using namespace std::chrono_literals;

UtcMinute at(std::chrono::year_month_day date, int hour = 0, int minute = 0) {
  return sys_days(date) + hours(hour) + minutes(minute);
}

std::optional<UtcMinute> next(std::string_view text, UtcMinute after) {
  const Result<CronExpression> cron = parse_cron(text);
  EXPECT_TRUE(cron.has_value()) << text;
  return cron ? next_after(*cron, after) : std::nullopt;
}

TEST(Cron, the_next_time_is_strictly_after) {
  EXPECT_EQ(next("* * * * *", at(2024y / 5 / 6, 7, 8)), at(2024y / 5 / 6, 7, 9));
  EXPECT_EQ(next("9 7 * * *", at(2024y / 5 / 6, 7, 8)), at(2024y / 5 / 6, 7, 9));
  EXPECT_EQ(next("9 7 * * *", at(2024y / 5 / 6, 7, 9)), at(2024y / 5 / 7, 7, 9));
}

TEST(Cron, seconds_within_a_minute_do_not_hide_the_next_one) {
  const WallTime wall = WallTime(at(2024y / 5 / 6, 7, 8)) + seconds(59);
  const auto minute = std::chrono::floor<minutes>(wall);
  const WallTime due = next("* * * * *", minute).value();
  EXPECT_EQ(due, wall + seconds(1));
}

TEST(Cron, each_field_carries_into_the_next) {
  EXPECT_EQ(next("30 * * * *", at(2024y / 5 / 6, 7, 30)), at(2024y / 5 / 6, 8, 30));
  EXPECT_EQ(next("5 8,20 * * *", at(2024y / 5 / 6, 8, 5)), at(2024y / 5 / 6, 20, 5));
  EXPECT_EQ(next("5 8,20 * * *", at(2024y / 5 / 31, 20, 5)), at(2024y / 6 / 1, 8, 5));
  EXPECT_EQ(next("0 0 5 * *", at(2024y / 12 / 5)), at(2025y / 1 / 5));
  EXPECT_EQ(next("0 0 31 * *", at(2024y / 1 / 31)), at(2024y / 3 / 31));
  EXPECT_EQ(next("59 23 31 12 *", at(2024y / 12 / 31, 23, 59)), at(2025y / 12 / 31, 23, 59));
}

TEST(Cron, two_restricted_day_fields_match_by_either) {
  const std::string text = "0 0 13 * FRI";
  EXPECT_EQ(next(text, at(2024y / 5 / 3)), at(2024y / 5 / 10));
  EXPECT_EQ(next(text, at(2024y / 5 / 10)), at(2024y / 5 / 13));
  EXPECT_EQ(next(text, at(2024y / 5 / 13)), at(2024y / 5 / 17));
}

TEST(Cron, a_day_field_that_starts_with_a_star_must_match_as_well) {
  // Fridays with an odd date.
  EXPECT_EQ(next("0 0 */2 * FRI", at(2024y / 5 / 3)), at(2024y / 5 / 17));
}

TEST(Cron, a_leap_day_is_found_across_a_century_without_one) {
  EXPECT_EQ(next("0 0 29 2 *", at(2023y / 3 / 1)), at(2024y / 2 / 29));
  EXPECT_EQ(next("0 0 29 2 *", at(2096y / 2 / 29)), at(2104y / 2 / 29));
  // On a Sunday: 2088 is followed by 40 years without.
  EXPECT_EQ(next("0 0 29 2 */7", at(2088y / 2 / 29)), at(2128y / 2 / 29));
}

TEST(Cron, nothing_fires_before_the_first_year_or_after_the_last) {
  EXPECT_EQ(next("* * * * *", UtcMinute::min()), at(1970y / 1 / 1));
  EXPECT_EQ(next("* * * * *", at(1970y / 1 / 1) - minutes(1)), at(1970y / 1 / 1));
  EXPECT_EQ(next("* * * * *", at(9999y / 12 / 31, 23, 58)), at(9999y / 12 / 31, 23, 59));
  EXPECT_EQ(next("* * * * *", at(9999y / 12 / 31, 23, 59)), std::nullopt);
  EXPECT_EQ(next("* * * * *", UtcMinute::max()), std::nullopt);
  EXPECT_EQ(next("0 0 1 1 *", at(9999y / 1 / 1)), std::nullopt);
  EXPECT_EQ(next("0 0 * * *", at(9999y / 12 / 31)), std::nullopt);
  EXPECT_EQ(next("0 0 29 2 *", at(9996y / 2 / 29)), std::nullopt);
}

TEST(CronDeath, an_empty_set_stops_the_program) {
  EXPECT_DEATH(next_after({.minutes = 0}, at(2024y / 1 / 1)), "check failed");
  EXPECT_DEATH(next_after({.months = 1}, at(2024y / 1 / 1)), "check failed");
}

// Random expressions walk through ten years in src/queue/cron_walk_test.cc.

}  // namespace
}  // namespace sluice
