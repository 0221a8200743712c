// SPDX-License-Identifier: MIT
#include "base/cron.h"

#include <gtest/gtest.h>
#include <sluice/clock.h>
#include <sluice/random.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

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

// What follows checks random expressions against a reference that shares nothing with the code
// under test: the sets come from the generator, not from the parser, and the calendar counts days.

struct DrawnField {
  std::string text;
  std::array<bool, 60> has{};
};

struct FieldShape {
  int low, high;
  bool sunday_is_seven;
};

void draw_item(Random& random, const FieldShape& shape, DrawnField& field) {
  const auto between = [&](int low, int high) { return low + int(random.below(high - low + 1)); };
  int first = shape.low, last = shape.high, step = 1;
  const std::uint64_t kind = random.below(4);
  if (kind == 0) {
    field.text += "*";
  } else {
    first = between(shape.low, shape.high + (shape.sunday_is_seven ? 1 : 0));
    last = kind == 1 ? first : between(first, shape.high + (shape.sunday_is_seven ? 1 : 0));
    field.text += std::to_string(first);
    if (kind != 1) field.text += "-" + std::to_string(last);
  }
  if (kind != 1 && random.chance(0.7)) {
    step = between(1, shape.high - shape.low + 1);
    field.text += "/" + std::to_string(step);
  }
  for (int value = first; value <= last; value += step)
    field.has[shape.sunday_is_seven ? value % 7 : value] = true;
}

DrawnField draw_field(Random& random, const FieldShape& shape) {
  DrawnField field;
  if (random.chance(0.3)) {
    field.text = "*";
    for (int value = shape.low; value <= shape.high; ++value) field.has[value] = true;
    return field;
  }
  for (std::uint64_t items = 1 + random.below(3); items > 0; --items) {
    if (!field.text.empty()) field.text += ",";
    draw_item(random, shape, field);
  }
  return field;
}

struct Drawn {
  DrawnField minute, hour, day, month, weekday;

  std::string text() const {
    return minute.text + " " + hour.text + " " + day.text + " " + month.text + " " + weekday.text;
  }
  bool matches(int month_number, int day_number, int weekday_number) const {
    if (!month.has[month_number]) return false;
    if (day.text[0] == '*' || weekday.text[0] == '*')
      return day.has[day_number] && weekday.has[weekday_number];
    return day.has[day_number] || weekday.has[weekday_number];
  }
};

Drawn draw_expression(Random& random) {
  return {.minute = draw_field(random, {0, 59, false}),
          .hour = draw_field(random, {0, 23, false}),
          .day = draw_field(random, {1, 31, false}),
          .month = draw_field(random, {1, 12, false}),
          .weekday = draw_field(random, {0, 6, true})};
}

constexpr int kSpanYears = 10;

// All that fires in a span is every minute of `times` on every day of `days`.
struct Reference {
  std::vector<std::int64_t> days;   // Days since 1970-01-01.
  std::vector<std::int64_t> times;  // Minutes since midnight.
  std::int64_t first_day = 0, end_day = 0;
};

Reference reference_for(const Drawn& drawn, int first_year) {
  Reference reference;
  std::int64_t today = 0;
  for (int year = 1970; year < first_year + kSpanYears; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < first_year) {
      today += leap ? 366 : 365;
      continue;
    }
    if (year == first_year) reference.first_day = today;
    const std::array<int, 12> lengths = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30,
                                         31};
    for (int month = 1; month <= 12; ++month)
      for (int day = 1; day <= lengths[month - 1]; ++day, ++today)
        // 1970 began on a Thursday.
        if (drawn.matches(month, day, int((today + 4) % 7))) reference.days.push_back(today);
  }
  reference.end_day = today;
  for (int minute = 0; minute < 24 * 60; ++minute)
    if (drawn.hour.has[minute / 60] && drawn.minute.has[minute % 60])
      reference.times.push_back(minute);
  return reference;
}

UtcMinute minute_of(std::int64_t day, std::int64_t time) {
  return UtcMinute(minutes(day * 24 * 60 + time));
}

// Walks what fires in the span one by one; of the days beyond the budget, the first and the last.
void expect_same_firings(const CronExpression& cron, const Reference& reference, Random& random) {
  constexpr double kBudget = 20'000;
  const double firings = double(reference.days.size() * reference.times.size());
  UtcMinute now = minute_of(reference.first_day, 0) - minutes(1);
  for (std::int64_t day : reference.days) {
    const bool whole = random.chance(kBudget / (firings + 1));
    for (std::size_t i = 0; i < reference.times.size(); ++i) {
      const UtcMinute expected = minute_of(day, reference.times[i]);
      ASSERT_EQ(next_after(cron, now), expected);
      if (!whole && i == 0) i = std::max<std::size_t>(reference.times.size(), 2) - 2;
      now = minute_of(day, reference.times[i]);
    }
  }
  const auto beyond = next_after(cron, now);
  ASSERT_TRUE(!beyond || *beyond >= minute_of(reference.end_day, 0));
}

// Asks from instants of which most are not themselves firing.
void expect_same_from_anywhere(const CronExpression& cron, const Reference& reference,
                               Random& random) {
  for (int probe = 0; probe < 100; ++probe) {
    const std::int64_t today =
        reference.first_day + std::int64_t(random.below(reference.end_day - reference.first_day));
    const std::int64_t time = std::int64_t(random.below(24 * 60));
    auto day = std::ranges::lower_bound(reference.days, today);
    if (day == reference.days.end()) continue;
    auto due = reference.times.begin();
    if (*day == today) due = std::ranges::upper_bound(reference.times, time);
    if (due == reference.times.end()) {
      due = reference.times.begin();
      if (++day == reference.days.end()) continue;
    }
    ASSERT_EQ(next_after(cron, minute_of(today, time)), minute_of(*day, *due));
  }
}

bool has_a_date(const Drawn& drawn) {
  // Every date, leap days included, falls on every weekday in some year.
  constexpr std::array<int, 12> kLengths = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (int month = 1; month <= 12; ++month)
    for (int day = 1; day <= kLengths[month - 1]; ++day)
      for (int weekday = 0; weekday < 7; ++weekday)
        if (drawn.matches(month, day, weekday)) return true;
  return false;
}

TEST(Cron, random_expressions_fire_as_a_walk_through_the_calendar_says) {
  const std::uint64_t count = std::getenv("SLUICE_LONG") != nullptr ? 1000 : 200;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SeededRandom random(seed);
    const Drawn drawn = draw_expression(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + drawn.text());
    const Result<CronExpression> cron = parse_cron(drawn.text());
    ASSERT_EQ(cron.has_value(), has_a_date(drawn)) << status_of(cron).to_string();
    if (!cron) {
      ++refused;
      continue;
    }
    const int first_year = kCronYearFirst + int(random.below(kCronYearLast - kCronYearFirst - 9));
    const Reference reference = reference_for(drawn, first_year);
    ASSERT_NO_FATAL_FAILURE(expect_same_firings(*cron, reference, random));
    ASSERT_NO_FATAL_FAILURE(expect_same_from_anywhere(*cron, reference, random));
  }
  EXPECT_LT(refused, int(count / 20));
}

}  // namespace
}  // namespace sluice
