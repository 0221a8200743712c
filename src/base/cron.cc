// SPDX-License-Identifier: MIT
#include "base/cron.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace sluice {
namespace {

namespace chrono = std::chrono;

constexpr UtcMinute kFirst = chrono::sys_days(chrono::year(kCronYearFirst) / 1 / 1);
constexpr UtcMinute kLast = chrono::sys_days(chrono::year(kCronYearLast) / 12 / 31) +
                            chrono::hours(23) + chrono::minutes(59);

// The members of `set` from `least` on; `least` is below 64.
constexpr std::uint64_t from(std::uint64_t set, unsigned least) {
  return set & (~std::uint64_t{0} << least);
}

constexpr bool has(std::uint64_t set, unsigned value) {
  return (set >> value & 1) != 0;
}

unsigned lowest(std::uint64_t set) {
  return static_cast<unsigned>(std::countr_zero(set));
}

// The days of one month that match, as bits 1-31.
std::uint64_t days_in(const CronExpression& cron, chrono::year_month month) {
  const auto length = static_cast<unsigned>((month / chrono::last).day());
  const unsigned first = chrono::weekday(month / 1).c_encoding();
  // The week turned so that bit 0 is the weekday of the 1st, then laid out five times in a row.
  const std::uint64_t week = (cron.days_of_week >> first | cron.days_of_week << (7 - first)) & 0x7f;
  const std::uint64_t by_week = week * (1 + (1 << 7) + (1 << 14) + (1 << 21) + (1 << 28)) << 1;
  const std::uint64_t days =
      cron.either_day ? cron.days_of_month | by_week : cron.days_of_month & by_week;
  return days & ((std::uint64_t{2} << length) - 2);
}

chrono::minutes time_of_day(unsigned hour, unsigned minute) {
  return chrono::hours(hour) + chrono::minutes(minute);
}

// The first matching time of a day that is not before `earliest`.
std::optional<chrono::minutes> time_in_day(const CronExpression& cron, chrono::minutes earliest) {
  const auto hour = static_cast<unsigned>(earliest.count() / 60);
  const auto minute = static_cast<unsigned>(earliest.count() % 60);
  if (has(cron.hours, hour)) {
    const std::uint64_t minutes = from(cron.minutes, minute);
    if (minutes != 0) return time_of_day(hour, lowest(minutes));
  }
  const std::uint64_t hours = from(cron.hours, hour + 1);
  if (hours == 0) return std::nullopt;
  return time_of_day(lowest(hours), lowest(cron.minutes));
}

// The first matching day that is not before `earliest`.
std::optional<chrono::sys_days> day_from(const CronExpression& cron,
                                         chrono::year_month_day earliest) {
  auto day = static_cast<unsigned>(earliest.day());
  auto months = from(cron.months, static_cast<unsigned>(earliest.month()));
  if (!has(months, static_cast<unsigned>(earliest.month()))) day = 1;
  for (chrono::year year = earliest.year(); int(year) <= kCronYearLast; ++year) {
    for (; months != 0; months &= months - 1) {
      const chrono::year_month month = year / chrono::month(lowest(months));
      const std::uint64_t days = from(days_in(cron, month), day);
      if (days != 0) return chrono::sys_days(month / chrono::day(lowest(days)));
      day = 1;
    }
    months = cron.months;
    day = 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<UtcMinute> next_after(const CronExpression& cron, UtcMinute after) {
  SLUICE_CHECK(lowest(cron.minutes) < 60 && lowest(cron.hours) < 24 && cron.days_of_week != 0);
  SLUICE_CHECK(from(cron.days_of_month, 1) != 0 && from(cron.months & 0x1fff, 1) != 0);
  if (after >= kLast) return std::nullopt;
  const UtcMinute earliest = std::max(after + chrono::minutes(1), kFirst);
  const auto today = chrono::floor<chrono::days>(earliest);
  std::optional<chrono::sys_days> day = day_from(cron, today);
  if (day == today) {
    if (const auto time = time_in_day(cron, earliest - today)) return today + *time;
    day = day_from(cron, today + chrono::days(1));
  }
  if (!day) return std::nullopt;
  return *day + time_of_day(lowest(cron.hours), lowest(cron.minutes));
}

}  // namespace sluice
