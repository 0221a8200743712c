// SPDX-License-Identifier: MIT
#include "cli/time.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>

#include "cli/duration.h"
#include "cli/number.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kFractionDigitsMax = 9;
constexpr std::string_view kTooLate = "it is after 2262-04-11, the last date that can be kept";

Failure bad_time(std::string_view text, std::string_view why) {
  std::string message = in_quotes(text);
  message.append(" is not a time: ").append(why);
  message.append(
      "; write for example 2026-11-15T18:02:03Z, 2026-11-15, 18:02, +10m or @1700000000");
  return error(Code::invalid_argument, std::move(message));
}

// A reason alone; parse_time() puts the text and the examples around it.
Failure because(std::string why) {
  return error(Code::invalid_argument, std::move(why));
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Exactly `count` digits, as a number.
std::optional<unsigned> take_number(std::string_view& text, std::size_t count) {
  std::string_view rest = text;
  const std::string_view digits = take_digits(rest);
  if (digits.size() != count) return std::nullopt;
  unsigned number = 0;
  for (char c : digits) number = number * 10 + static_cast<unsigned>(c - '0');
  text = rest;
  return number;
}

Result<sys_days> take_date(std::string_view& text) {
  const auto year = take_number(text, 4);
  const bool year_ends = take(text, '-');
  const auto month = take_number(text, 2);
  const bool month_ends = take(text, '-');
  const auto day = take_number(text, 2);
  if (!year || !year_ends || !month || !month_ends || !day) {
    return because("its form is not known");
  }
  const year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                            std::chrono::day(*day)};
  if (!date.month().ok()) return because("there is no month " + std::to_string(*month));
  if (!date.ok()) {
    const auto last = (date.year() / date.month() / std::chrono::last).day();
    return because("that month has " + std::to_string(unsigned{last}) + " days, not " +
                   std::to_string(*day));
  }
  return sys_days(date);
}

struct TimeOfDay {
  seconds since_midnight{0};
  Duration fraction{0};
};

// HH:MM, HH:MM:SS or HH:MM:SS.fraction.
Result<TimeOfDay> take_time_of_day(std::string_view& text) {
  const auto hour = take_number(text, 2);
  const bool hour_ends = take(text, ':');
  const auto minute = take_number(text, 2);
  if (!hour || !hour_ends || !minute) return because("its form is not known");
  if (*hour > 23) return because("hours go from 00 to 23");
  if (*minute > 59) return because("minutes go from 00 to 59");
  TimeOfDay time{.since_midnight = hours(*hour) + minutes(*minute), .fraction = {}};
  if (!take(text, ':')) return time;
  const auto second = take_number(text, 2);
  if (!second) return because("its form is not known");
  if (*second > 59) return because("seconds go from 00 to 59");
  time.since_midnight += seconds(*second);
  if (!take(text, '.')) return time;
  const std::string_view digits = take_digits(text);
  if (digits.empty() || digits.size() > kFractionDigitsMax) {
    return because("a fraction of a second has 1 to 9 digits");
  }
  const auto ns = times({.whole = "0", .fraction = digits}, kNsPerSecond, kNsPerSecond);
  time.fraction = Duration(static_cast<std::int64_t>(ns.value_or(0)));
  return time;
}

// Z, +HH:MM or -HH:MM, to the end of the text: how far the local time is ahead of UTC.
Result<seconds> take_offset(std::string_view text) {
  if (text.empty()) return because("it has no offset from UTC: put Z after it, or +01:00");
  if (text == "Z" || text == "z") return seconds(0);
  const bool ahead = take(text, '+');
  if (!ahead && !take(text, '-')) return because("its form is not known");
  const auto hour = take_number(text, 2);
  const bool hour_ends = take(text, ':');
  const auto minute = take_number(text, 2);
  if (!hour || !hour_ends || !minute || !text.empty()) {
    return because("an offset is Z, or of the form +01:00");
  }
  if (*hour > 23 || *minute > 59) return because("an offset is at most 23:59");
  const seconds offset = hours(*hour) + minutes(*minute);
  return ahead ? offset : -offset;
}

Result<WallTime> wall_time(seconds since_1970, Duration fraction) {
  constexpr Duration kLast = WallTime::max().time_since_epoch();
  if (since_1970 < seconds(0)) return because("it is before 1970");
  if (since_1970 > std::chrono::floor<seconds>(kLast) || fraction > kLast - since_1970) {
    return because(std::string(kTooLate));
  }
  return WallTime(Duration(since_1970) + fraction);
}

Result<WallTime> parse_date_time(std::string_view text) {
  SLUICE_LET(date, take_date(text));
  const seconds midnight = date.time_since_epoch();
  if (text.empty()) return wall_time(midnight, Duration(0));
  if (!take(text, 'T') && !take(text, 't') && !take(text, ' ')) {
    return because("its form is not known");
  }
  SLUICE_LET(time, take_time_of_day(text));
  SLUICE_LET(offset, take_offset(text));
  return wall_time(midnight + time.since_midnight - offset, time.fraction);
}

Result<WallTime> parse_next_time_of_day(std::string_view text, WallTime now) {
  SLUICE_LET(time, take_time_of_day(text));
  if (!text.empty() || time.fraction != Duration(0)) {
    return because("a time of day is HH:MM or HH:MM:SS");
  }
  const sys_days today = std::chrono::floor<days>(now);
  const seconds at = today.time_since_epoch() + time.since_midnight;
  const bool passed = at <= std::chrono::floor<seconds>(now.time_since_epoch());
  return wall_time(passed ? at + days(1) : at, Duration(0));
}

Result<WallTime> parse_later(std::string_view text, WallTime now) {
  SLUICE_LET(wait, parse_duration(text));
  const Duration left =
      now.time_since_epoch() > Duration(0) ? WallTime::max() - now : Duration::max();
  if (wait > left) return because(std::string(kTooLate));
  return now + wait;
}

Result<WallTime> parse_unix(std::string_view text) {
  const std::optional<Decimal> number = take_decimal(text);
  if (!number || !text.empty()) return because("after @ comes a number of seconds since 1970");
  const auto ns = times(*number, kNsPerSecond, std::numeric_limits<std::int64_t>::max());
  if (!ns) return because(std::string(kTooLate));
  return WallTime(Duration(static_cast<std::int64_t>(*ns)));
}

Result<WallTime> parse_any(std::string_view text, WallTime now) {
  if (text.empty()) return because("it is empty");
  if (text.front() == '@') return parse_unix(text.substr(1));
  if (text.size() > 2 && text[2] == ':') return parse_next_time_of_day(text, now);
  return parse_date_time(text);
}

}  // namespace

std::string format_time(WallTime t) {
  const sys_days day = std::chrono::floor<days>(t);
  const year_month_day date(day);
  // In two steps: the midnight of the first day is before all that a WallTime can hold.
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(t).time_since_epoch() -
                  std::chrono::milliseconds(day.time_since_epoch());
  const long long total = ms.count();
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02lld:%02lld:%02lld.%03lldZ",
                int{date.year()}, unsigned{date.month()}, unsigned{date.day()}, total / 3'600'000,
                total / 60'000 % 60, total / 1000 % 60, total % 1000);
  return text.data();
}

Result<WallTime> parse_time(std::string_view text, WallTime now) {
  // A bad duration has a message of its own, with examples of durations.
  if (text.starts_with('+')) return parse_later(text.substr(1), now);
  Result<WallTime> time = parse_any(text, now);
  if (!time) return bad_time(text, time.error().message());
  return time;
}

}  // namespace sluice::cli
