// SPDX-License-Identifier: MIT
#include "cli/duration.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>

namespace sluice::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr hours kDay(24);

std::string refusal(std::string_view text) {
  const Result<Duration> duration = parse_duration(text);
  if (duration) return "accepted";
  EXPECT_EQ(duration.error().code(), Code::invalid_argument) << text;
  return duration.error().message();
}

TEST(ParseDuration, numbers_with_units_and_without) {
  const struct {
    std::string_view text;
    Duration expected;
  } rows[] = {
      {"0", Duration(0)},
      {"90", seconds(90)},
      {"1.5", milliseconds(1500)},
      {"90s", seconds(90)},
      {"1.5h", minutes(90)},
      {"1h30m", minutes(90)},
      {"2h05m", minutes(125)},
      {"2d", 2 * kDay},
      {"1w", 7 * kDay},
      {"250ms", milliseconds(250)},
      {"1m1ms", milliseconds(60'001)},
      {"3us4ns", Duration(3004)},
      {"1w2d3h4m5s6ms7us8ns", 9 * kDay + hours(3) + minutes(4) + seconds(5) + Duration(6'007'008)},
      {"0.1h", minutes(6)},
      {"0.3ns", Duration(0)},
      {"0.000000001", Duration(1)},
      {"0.0000000019", Duration(1)},
      {"000000000000000000000000000001", seconds(1)}};
  for (const auto& row : rows) {
    const Result<Duration> duration = parse_duration(row.text);
    ASSERT_TRUE(duration.has_value()) << row.text << ": " << duration.error().to_string();
    EXPECT_EQ(*duration, row.expected) << row.text;
  }
}

TEST(ParseDuration, what_is_no_duration_is_refused_with_the_reason) {
  const struct {
    std::string_view text;
    std::string_view reason;
  } rows[] = {{"", "it is empty"},
              {"-5", "it is negative"},
              {"-1h", "it is negative"},
              {"+5s", "a number is expected at \"+5s\""},
              {"h", "a number is expected at \"h\""},
              {"1.h", "a number is expected at \"1.h\""},
              {".5h", "a number is expected at \".5h\""},
              {"5x", "unknown unit \"x\""},
              {"5 s", "unknown unit \" s\""},
              {"5S", "unknown unit \"S\""},
              {"1h30", "the last number has no unit"},
              {"30m1h", "larger units go first, each once"},
              {"1h1h", "larger units go first, each once"},
              {"1e3", "unknown unit \"e\""},
              {"inf", "a number is expected at \"inf\""},
              {"0x10", "unknown unit \"x\""}};
  for (const auto& row : rows) {
    EXPECT_NE(refusal(row.text).find(row.reason), std::string::npos) << refusal(row.text);
  }
}

TEST(ParseDuration, the_longest_is_accepted_and_one_nanosecond_more_is_not) {
  EXPECT_EQ(parse_duration("9223372036854775807ns"), Duration::max());
  EXPECT_EQ(parse_duration("9223372036.854775807"), Duration::max());
  EXPECT_EQ(parse_duration("9223372036s854775807ns"), Duration::max());
  for (std::string_view text : {"9223372036854775808ns", "9223372036.854775808",
                                "9223372036s854775808ns", "15251w", "18446744073709551616"}) {
    EXPECT_NE(refusal(text).find("longer than 292 years"), std::string::npos) << text;
  }
}

TEST(ParseDuration, a_refusal_names_the_input_and_shows_examples) {
  EXPECT_EQ(refusal("5x"),
            "\"5x\" is not a duration: unknown unit \"x\" (w d h m s ms us ns); write for example "
            "90s, 1h30m, 1.5h, 2d or 250ms");
  EXPECT_EQ(refusal("5\x1b[31m").find('\x1b'), std::string::npos);
}

TEST(FormatDuration, two_parts_at_most_and_cut_off) {
  const struct {
    Duration duration;
    std::string_view expected;
  } rows[] = {{Duration(0), "0s"},
              {Duration(1), "<1ms"},
              {Duration(999'999), "<1ms"},
              {milliseconds(1), "1ms"},
              {milliseconds(850), "850ms"},
              {seconds(1) - Duration(1), "999ms"},
              {seconds(1), "1s"},
              {milliseconds(1099), "1s"},
              {milliseconds(2399), "2.3s"},
              {milliseconds(9999), "9.9s"},
              {milliseconds(10'900), "10s"},
              {seconds(45), "45s"},
              {minutes(1) - Duration(1), "59s"},
              {minutes(1), "1m"},
              {seconds(192), "3m12s"},
              {seconds(182), "3m02s"},
              {hours(1) - Duration(1), "59m59s"},
              {hours(1), "1h"},
              {minutes(125), "2h05m"},
              {kDay - Duration(1), "23h59m"},
              {kDay, "1d"},
              {4 * kDay + hours(3), "4d3h"},
              {Duration::max(), "106751d23h"},
              {-milliseconds(2300), "-2.3s"},
              {Duration::min(), "-106751d23h"}};
  for (const auto& row : rows) EXPECT_EQ(format_duration(row.duration), row.expected);
}

RC_GTEST_PROP(FormatDuration, is_read_back_as_no_more_than_it_was, ()) {
  const auto ns = *rc::gen::inRange<std::int64_t>(1'000'000, Duration::max().count());
  const Result<Duration> read = parse_duration(format_duration(Duration(ns)));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read <= Duration(ns));
  RC_ASSERT(Duration(ns) - *read < hours(1));
}

TEST(Relative, one_unit_before_or_after_now) {
  const WallTime now{seconds(1'700'000'000)};
  const struct {
    Duration after;
    std::string_view expected;
  } rows[] = {{Duration(0), "just now"},
              {seconds(1) - Duration(1), "just now"},
              {-seconds(1) + Duration(1), "just now"},
              {-seconds(1), "1s ago"},
              {seconds(1), "in 1s"},
              {-seconds(12), "12s ago"},
              {-seconds(59), "59s ago"},
              {-seconds(60), "1m ago"},
              {seconds(239), "in 3m"},
              {-minutes(59), "59m ago"},
              {-hours(1), "1h ago"},
              {-minutes(179), "2h ago"},
              {hours(23), "in 23h"},
              {hours(24), "in 1d"},
              {-hours(5 * 24), "5d ago"}};
  for (const auto& row : rows) EXPECT_EQ(relative(now + row.after, now), row.expected);
}

TEST(Relative, the_two_most_distant_times) {
  EXPECT_EQ(relative(WallTime::min(), WallTime::max()), "213503d ago");
  EXPECT_EQ(relative(WallTime::max(), WallTime::min()), "in 213503d");
}

}  // namespace
}  // namespace sluice::cli
