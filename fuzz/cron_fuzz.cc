// SPDX-License-Identifier: MIT
// Whatever parse_cron accepts can be written out as plain lists and read back to the same
// expression, whatever the case of its letters; it fires at some time; and next_after finds a
// minute that matches by an independent reading of the calendar, with none before it that was
// looked at. The first four bytes of the input choose the time to start from.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/cron.h"

namespace {

using namespace sluice;
namespace chrono = std::chrono;

constexpr int kMinutesLookedAt = 300;

bool has(std::uint64_t set, unsigned value) {
  return (set >> value & 1) != 0;
}

bool matches(const CronExpression& cron, UtcMinute time) {
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const auto minutes = static_cast<unsigned>((time - day).count());
  const bool by_month_day = has(cron.days_of_month, static_cast<unsigned>(date.day()));
  const bool by_week_day = has(cron.days_of_week, chrono::weekday(day).c_encoding());
  return has(cron.minutes, minutes % 60) && has(cron.hours, minutes / 60) &&
         has(cron.months, static_cast<unsigned>(date.month())) &&
         (cron.either_day ? by_month_day || by_week_day : by_month_day && by_week_day);
}

std::string list_of(std::uint64_t set) {
  std::string text;
  for (unsigned value = 0; value < 64; ++value)
    if (has(set, value)) text.append(text.empty() ? "" : ",").append(std::to_string(value));
  SLUICE_CHECK(!text.empty());
  return text;
}

/// A field that is not restricted must begin with a star, so a set like that of `*/2` beside
/// another restricted day field cannot be told as a list: such expressions are left out.
void check_canonical(const CronExpression& cron) {
  const CronExpression every;
  const bool any_month_day = !cron.either_day && cron.days_of_month == every.days_of_month;
  const bool any_week_day = !cron.either_day && cron.days_of_week == every.days_of_week;
  if (!cron.either_day && !any_month_day && !any_week_day) return;
  const std::string text = list_of(cron.minutes) + " " + list_of(cron.hours) + " " +
                           (any_month_day ? "*" : list_of(cron.days_of_month)) + " " +
                           list_of(cron.months) + " " +
                           (any_week_day ? "*" : list_of(cron.days_of_week));
  const auto again = parse_cron(text);
  SLUICE_CHECK(again && *again == cron);
}

void check_next(const CronExpression& cron, UtcMinute after) {
  const auto next = next_after(cron, after);
  SLUICE_CHECK(next && *next > after);
  SLUICE_CHECK(matches(cron, *next));
  SLUICE_CHECK(next_after(cron, *next - chrono::minutes(1)) == next);
  UtcMinute from_start = after;
  UtcMinute from_end = *next;
  for (int i = 0; i < kMinutesLookedAt; ++i) {
    if (++from_start >= *next || --from_end <= after) break;
    SLUICE_CHECK(!matches(cron, from_start) && !matches(cron, from_end));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint32_t start = 0;  // A quarter of it, in minutes, ends in the year 4011.
  if (size < sizeof start) return 0;
  std::memcpy(&start, data, sizeof start);
  std::string text(reinterpret_cast<const char*>(data) + sizeof start, size - sizeof start);
  const auto cron = parse_cron(text);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::isupper(letter) ? std::tolower(letter) : std::toupper(letter));
  });
  const auto other_case = parse_cron(text);
  SLUICE_CHECK(cron.has_value() == other_case.has_value());
  if (!cron) {
    SLUICE_CHECK(cron.error().code() == Code::invalid_argument);
    return 0;
  }
  SLUICE_CHECK(*cron == *other_case);
  check_canonical(*cron);
  check_next(*cron, UtcMinute(chrono::minutes(start / 4)));
  return 0;
}
