// SPDX-License-Identifier: MIT
#include "cli/time.h"

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

WallTime at(std::int64_t unix_seconds, Duration more = Duration(0)) {
  return WallTime(seconds(unix_seconds) + more);
}

// 2023-11-14T22:13:20Z
const WallTime kNow = at(1'700'000'000);

std::string refusal(std::string_view text) {
  const Result<WallTime> time = parse_time(text, kNow);
  if (time) return "accepted";
  EXPECT_EQ(time.error().code(), Code::invalid_argument) << text;
  return time.error().message();
}

void expect_time(std::string_view text, WallTime expected, WallTime now = kNow) {
  const Result<WallTime> time = parse_time(text, now);
  ASSERT_TRUE(time.has_value()) << text << ": " << time.error().to_string();
  EXPECT_EQ(*time, expected) << text << " gave " << format_time(*time);
}

TEST(FormatTime, rfc_3339_with_milliseconds_cut_off) {
  EXPECT_EQ(format_time(at(1'794'765'723, milliseconds(123))), "2026-11-15T18:02:03.123Z");
  EXPECT_EQ(format_time(at(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(at(0, Duration(1'999'999))), "1970-01-01T00:00:00.001Z");
  EXPECT_EQ(format_time(at(951'782'400)), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(format_time(at(1'709'251'199, milliseconds(999))), "2024-02-29T23:59:59.999Z");
  EXPECT_EQ(format_time(at(4'107'542'400)), "2100-03-01T00:00:00.000Z");
}

TEST(FormatTime, the_first_and_the_last_there_are) {
  EXPECT_EQ(format_time(WallTime::max()), "2262-04-11T23:47:16.854Z");
  EXPECT_EQ(format_time(WallTime::min()), "1677-09-21T00:12:43.145Z");
  EXPECT_EQ(format_time(at(0, -Duration(1))), "1969-12-31T23:59:59.999Z");
}

TEST(ParseTime, a_date_and_time_with_its_offset) {
  const WallTime base = at(1'794'765'723);
  expect_time("2026-11-15T18:02:03Z", base);
  expect_time("2026-11-15 18:02:03Z", base);
  expect_time("2026-11-15t18:02:03z", base);
  expect_time("2026-11-15T18:02:03.123Z", base + milliseconds(123));
  expect_time("2026-11-15T18:02:03.5Z", base + milliseconds(500));
  expect_time("2026-11-15T18:02:03.000000001Z", base + Duration(1));
  expect_time("2026-11-15T18:02:03.999999999Z", base + seconds(1) - Duration(1));
  expect_time("2026-11-15T18:02Z", base - seconds(3));
  expect_time("2026-11-15T19:02:03+01:00", base);
  expect_time("2026-11-15T18:02:03-00:00", base);
  expect_time("2026-11-15T12:32:03-05:30", base);
  expect_time("2026-11-16T18:01:03+23:59", base);
  expect_time("1970-01-01T01:00:00+01:00", at(0));
  expect_time("1969-12-31T23:00:00-01:00", at(0));
}

TEST(ParseTime, a_date_alone_is_midnight) {
  expect_time("2026-11-15", at(1'794'700'800));
  expect_time("1970-01-01", at(0));
  expect_time("2024-02-29", at(1'709'164'800));
  expect_time("2000-02-29", at(951'782'400));
}

TEST(ParseTime, a_time_of_day_is_the_next_one_strictly_after_now) {
  expect_time("22:14", at(1'700'000'040));
  expect_time("22:13:21", at(1'700'000'001));
  expect_time("22:13:20", at(1'700'086'400));
  expect_time("22:13:20", at(1'700'000'000), kNow - Duration(1));
  expect_time("22:13:20", at(1'700'086'400), kNow + Duration(1));
  expect_time("22:13", at(1'700'086'380));
  expect_time("00:00", at(1'700'006'400));
}

TEST(ParseTime, from_now_and_since_1970) {
  expect_time("+10m", kNow + minutes(10));
  expect_time("+0", kNow);
  expect_time("+1h30m", kNow + minutes(90));
  expect_time("@1700000000", kNow);
  expect_time("@0", at(0));
  expect_time("@1700000000.25", kNow + milliseconds(250));
}

TEST(ParseTime, the_last_there_is_and_one_nanosecond_more) {
  constexpr std::string_view kReason = "it is after 2262-04-11";
  expect_time("2262-04-11T23:47:16.854775807Z", WallTime::max());
  expect_time("@9223372036.854775807", WallTime::max());
  expect_time("+1ns", WallTime::max(), WallTime::max() - Duration(1));
  for (std::string_view text :
       {"2262-04-11T23:47:16.854775808Z", "2262-04-11T23:47:17Z", "9999-12-31T23:59:59Z",
        "9999-12-31", "@9223372036.854775808", "@99999999999999999999", "+9223372036s"}) {
    EXPECT_NE(refusal(text).find(kReason), std::string::npos) << refusal(text);
  }
  for (std::string_view text : {"+1ns", "22:00"}) {
    EXPECT_FALSE(parse_time(text, WallTime::max()).has_value()) << text;
  }
}

TEST(ParseTime, what_the_calendar_does_not_have_is_refused) {
  const struct {
    std::string_view text;
    std::string_view reason;
  } rows[] = {{"2026-02-30", "that month has 28 days, not 30"},
              {"2024-02-30T00:00:00Z", "that month has 29 days, not 30"},
              {"2023-02-29", "that month has 28 days, not 29"},
              {"2100-02-29", "that month has 28 days, not 29"},
              {"2026-04-31", "that month has 30 days, not 31"},
              {"2026-01-32", "that month has 31 days, not 32"},
              {"2026-01-00", "that month has 31 days, not 0"},
              {"2026-00-01", "there is no month 0"},
              {"2026-13-01", "there is no month 13"},
              {"1969-12-31", "it is before 1970"},
              {"1970-01-01T00:59:59+01:00", "it is before 1970"},
              {"2026-11-15T24:00:00Z", "hours go from 00 to 23"},
              {"24:00", "hours go from 00 to 23"},
              {"12:60", "minutes go from 00 to 59"},
              {"2026-12-31T23:59:60Z", "seconds go from 00 to 59"}};
  for (const auto& row : rows) {
    EXPECT_NE(refusal(row.text).find(row.reason), std::string::npos) << refusal(row.text);
  }
}

TEST(ParseTime, other_forms_are_refused_with_the_reason) {
  const struct {
    std::string_view text;
    std::string_view reason;
  } rows[] = {{"", "it is empty"},
              {"tomorrow", "its form is not known"},
              {"2026-1-1", "its form is not known"},
              {"20261115", "its form is not known"},
              {"02026-11-15", "its form is not known"},
              {"2026-11-15x", "its form is not known"},
              {"2026-11-15T", "its form is not known"},
              {"2026-11-15T18", "its form is not known"},
              {"2026-11-15T18:02:03Zx", "its form is not known"},
              {"2026-11-15T18:02:03", "it has no offset from UTC"},
              {"2026-11-15T18:02:03.Z", "1 to 9 digits"},
              {"2026-11-15T18:02:03.1234567890Z", "1 to 9 digits"},
              {"2026-11-15T18:02:03+1:00", "an offset is Z"},
              {"2026-11-15T18:02:03+0100", "an offset is Z"},
              {"2026-11-15T18:02:03+24:00", "at most 23:59"},
              {"2026-11-15T18:02:03+00:60", "at most 23:59"},
              {"9:30", "its form is not known"},
              {"18:02Z", "a time of day is"},
              {"18:02:03.5", "a time of day is"},
              {"@", "after @ comes a number"},
              {"@-1", "after @ comes a number"},
              {"@1x", "after @ comes a number"},
              {"+", "is not a duration"},
              {"+5x", "is not a duration"},
              {"+-5m", "is not a duration"}};
  for (const auto& row : rows) {
    EXPECT_NE(refusal(row.text).find(row.reason), std::string::npos) << refusal(row.text);
  }
}

TEST(ParseTime, a_refusal_names_the_input_and_shows_examples) {
  EXPECT_EQ(refusal("2026-02-30"),
            "\"2026-02-30\" is not a time: that month has 28 days, not 30; write for example "
            "2026-11-15T18:02:03Z, 2026-11-15, 18:02, +10m or @1700000000");
}

RC_GTEST_PROP(ParseTime, reads_what_is_formatted, ()) {
  const auto ms = *rc::gen::inRange<std::int64_t>(0, Duration::max().count() / 1'000'000);
  const WallTime time{milliseconds(ms)};
  RC_ASSERT(parse_time(format_time(time), kNow) == time);
}

}  // namespace
}  // namespace sluice::cli
