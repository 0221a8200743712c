// SPDX-License-Identifier: MIT
// Random cron expressions, compared with a reference that shares nothing with the code under test:
// its sets are made by the generator, not by a parser, and its calendar counts days.
#include <gtest/gtest.h>
#include <sluice/random.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "queue/cron.h"
#include "tests/support/run_size.h"

namespace sluice::queue {
namespace {

constexpr Millis kMinute = 60'000;
constexpr Millis kDay = 24 * 60 * kMinute;

struct FieldShape {
  unsigned low, high;
  unsigned last_written;
  std::vector<std::string> names = {};
};

struct DrawnField {
  std::string text;
  std::array<bool, 60> has{};
};

std::string draw_value_text(Random& random, const FieldShape& shape, unsigned value) {
  if (value - shape.low >= shape.names.size() || random.chance(0.5)) return std::to_string(value);
  std::string name = shape.names[value - shape.low];
  for (char& letter : name)
    if (random.chance(0.5)) letter = static_cast<char>(letter - 'a' + 'A');
  return name;
}

void draw_item(Random& random, const FieldShape& shape, DrawnField& field) {
  enum Kind : std::uint64_t { star, single, range, open };
  const auto between = [&](unsigned low, unsigned high) {
    return low + static_cast<unsigned>(random.below(high - low + 1));
  };
  const auto kind = static_cast<Kind>(random.below(4));
  unsigned first = shape.low, last = shape.high, step = 1;
  if (kind == star) {
    field.text += "*";
  } else {
    first = between(shape.low, shape.last_written);
    last = kind == single  ? first
           : kind == range ? between(first, shape.last_written)
                           : shape.last_written;
    field.text += draw_value_text(random, shape, first);
    if (kind == range) field.text += "-" + draw_value_text(random, shape, last);
  }
  if (kind == open || (kind != single && random.chance(0.7))) {
    step = between(1, shape.high - shape.low + 1);
    field.text += "/" + std::to_string(step);
  }
  for (unsigned value = first; value <= last; value += step)
    field.has[value > shape.high ? shape.low : value] = true;  // 7 is Sunday as well.
}

DrawnField draw_field(Random& random, const FieldShape& shape) {
  DrawnField field;
  if (random.chance(0.3)) {
    field.text = "*";
    std::fill_n(field.has.begin() + shape.low, shape.high - shape.low + 1, true);
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
    return minute.text + " " + hour.text + " " + day.text + "\t" + month.text + "  " + weekday.text;
  }
  bool matches(unsigned month_number, unsigned day_number, unsigned weekday_number) const {
    const bool by_day = day.has[day_number], by_weekday = weekday.has[weekday_number];
    const bool either = day.text[0] != '*' && weekday.text[0] != '*';
    return month.has[month_number] && (either ? by_day || by_weekday : by_day && by_weekday);
  }
};

Drawn draw_expression(Random& random) {
  const FieldShape months{
      1,
      12,
      12,
      {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}};
  const FieldShape weekdays{0, 6, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}};
  Drawn drawn;
  drawn.minute = draw_field(random, {0, 59, 59});
  drawn.hour = draw_field(random, {0, 23, 23});
  drawn.day = draw_field(random, {1, 31, 31});
  drawn.month = draw_field(random, months);
  drawn.weekday = draw_field(random, weekdays);
  return drawn;
}

std::array<unsigned, 12> month_lengths(bool leap) {
  return {31, leap ? 29u : 28u, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
}

// Every date, leap days included, falls on every weekday in some year.
bool has_a_date(const Drawn& drawn) {
  for (unsigned month = 1; month <= 12; ++month)
    for (unsigned day = 1; day <= month_lengths(true)[month - 1]; ++day)
      for (unsigned weekday = 0; weekday < 7; ++weekday)
        if (drawn.matches(month, day, weekday)) return true;
  return false;
}

constexpr unsigned kSpanYears = 10;

// What is planned in a span of years: each of `times` on each of `days`.
struct Reference {
  std::vector<Millis> days;   // Their midnights.
  std::vector<Millis> times;  // Since midnight.
  Millis start = 0, end = 0;

  Millis firings() const { return days.size() * times.size(); }

  /// The last planned time of the span that is at most `time`.
  std::optional<Millis> last_until(Millis time) const {
    auto day = std::ranges::upper_bound(days, time);
    if (day == days.begin()) return std::nullopt;
    auto due = std::ranges::upper_bound(times, time - *--day);
    if (due != times.begin()) return *day + *--due;
    if (day == days.begin()) return std::nullopt;
    return *--day + times.back();
  }
};

Reference reference_for(const Drawn& drawn, unsigned first_year) {
  Reference reference;
  Millis today = 0;
  for (unsigned year = 1970; year < first_year + kSpanYears; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year == first_year) reference.start = today;
    if (year < first_year) {
      today += (leap ? 366 : 365) * kDay;
      continue;
    }
    const auto lengths = month_lengths(leap);
    for (unsigned month = 1; month <= 12; ++month)
      for (unsigned day = 1; day <= lengths[month - 1]; ++day, today += kDay)
        // 1970 began on a Thursday.
        if (drawn.matches(month, day, static_cast<unsigned>((today / kDay + 4) % 7)))
          reference.days.push_back(today);
  }
  reference.end = today;
  for (unsigned minute = 0; minute < 24 * 60; ++minute)
    if (drawn.hour.has[minute / 60] && drawn.minute.has[minute % 60])
      reference.times.push_back(minute * kMinute);
  return reference;
}

// Walks the span from planned time to planned time. Of an expression that fires very often, 60
// random days are walked whole, and of the others what leads to the first time of the day and to
// the last. Returns how many were compared.
std::uint64_t expect_same_walk(const Cron& cron, const Reference& reference, Random& random) {
  constexpr Millis kWalkedWhole = 40'000;
  constexpr double kDays = 60;
  const bool dense = reference.firings() > kWalkedWhole;
  const std::vector<Millis>& times = reference.times;
  std::uint64_t compared = 0;
  Millis now = std::max<Millis>(reference.start, 1) - 1;
  for (Millis day : reference.days) {
    const bool whole = !dense || random.chance(kDays / static_cast<double>(reference.days.size()));
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (!whole && i == 1) {
        i = times.size() - 1;
        now = day + times[i - 1];
      }
      const Millis expected = day + times[i];
      if (expected == 0) continue;  // No time is before 1970.
      const Millis next = cron.next_after(now);
      ++compared;
      if (next != expected) {
        ADD_FAILURE() << "after " << now << " comes " << next << ", not " << expected;
        return compared;
      }
      now = expected + random.below(kMinute);
    }
  }
  EXPECT_GE(cron.next_after(now), reference.end);
  return compared;
}

// A time of the span; often right at a planned one, or a millisecond beside it.
Millis draw_time(const Reference& reference, Random& random) {
  const Millis any = reference.start + random.below(reference.end - reference.start);
  const auto planned = reference.last_until(any);
  if (!planned || random.chance(0.5)) return any;
  return std::max(*planned + random.below(3), reference.start + 1) - 1;
}

void expect_same_intervals(const Cron& cron, const Reference& reference, Random& random) {
  for (int interval = 0; interval < 100; ++interval) {
    const Millis time = draw_time(reference, random);
    // Of any length, most of them short.
    const Millis length = random.below(1 + ((reference.end - reference.start) >> random.below(32)));
    const Millis after = random.chance(0.5) ? draw_time(reference, random)
                                            : time - std::min(length, time - reference.start);
    auto expected = reference.last_until(time);
    if (expected && *expected <= after) expected.reset();
    ASSERT_EQ(cron.last_between(after, time), expected) << after << " to " << time;
  }
}

TEST(CronWalkTest, random_expressions_fire_as_a_walk_through_ten_years_says) {
  const std::uint64_t seed = test::seed_or(20240506);
  const std::uint64_t count = test::RunSize{50, 1'020, 20'400}.pick();
  std::cout << "SLUICE_SEED=" << seed << std::endl;
  SeededRandom random(seed);
  std::uint64_t refused = 0, compared = 0;
  for (std::uint64_t i = 0; i < count && !HasFailure(); ++i) {
    const Drawn drawn = draw_expression(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", number " + std::to_string(i) + ": " +
                 drawn.text());
    const Result<Cron> cron = Cron::parse(drawn.text());
    ASSERT_EQ(cron.has_value(), has_a_date(drawn)) << status_of(cron).to_string();
    if (!cron) {
      ++refused;
      continue;
    }
    // One in four around 2024, the others anywhere.
    const unsigned first_year =
        random.chance(0.25) ? 2024 : 1970 + static_cast<unsigned>(random.below(8021));
    const Reference reference = reference_for(drawn, first_year);
    compared += expect_same_walk(*cron, reference, random);
    ASSERT_NO_FATAL_FAILURE(expect_same_intervals(*cron, reference, random));
  }
  EXPECT_LT(refused, 1 + count / 20);
  test::print_figure("queue.cron.expressions", count - refused);
  test::print_figure("queue.cron.times_compared", compared);
}

}  // namespace
}  // namespace sluice::queue
