// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "base/cron.h"

namespace sluice {
namespace {

CronExpression parsed(std::string_view text) {
  const Result<CronExpression> cron = parse_cron(text);
  EXPECT_TRUE(cron.has_value()) << text << ": " << cron.error().to_string();
  return cron.value_or(CronExpression{});
}

std::string refusal(std::string_view text) {
  const Result<CronExpression> cron = parse_cron(text);
  if (cron) return "accepted";
  EXPECT_EQ(cron.error().code(), Code::invalid_argument);
  return cron.error().message();
}

std::uint64_t bits(std::initializer_list<unsigned> values) {
  std::uint64_t set = 0;
  for (unsigned value : values) set |= std::uint64_t{1} << value;
  return set;
}

TEST(CronParse, five_stars_are_every_minute) {
  EXPECT_EQ(parsed("* * * * *"), CronExpression{});
  EXPECT_EQ(parsed(" \t*  *\t* * * "), CronExpression{});
}

TEST(CronParse, each_field_goes_to_its_set) {
  const CronExpression cron = parsed("5 6 7 8 2");
  EXPECT_EQ(cron.minutes, bits({5}));
  EXPECT_EQ(cron.hours, bits({6}));
  EXPECT_EQ(cron.days_of_month, bits({7}));
  EXPECT_EQ(cron.months, bits({8}));
  EXPECT_EQ(cron.days_of_week, bits({2}));
}

TEST(CronParse, lists_ranges_and_steps) {
  const auto minutes = [](std::string text) { return parsed(text + " * * * *").minutes; };
  EXPECT_EQ(minutes("1,4,4,59"), bits({1, 4, 59}));
  EXPECT_EQ(minutes("10-13"), bits({10, 11, 12, 13}));
  EXPECT_EQ(minutes("13-13"), bits({13}));
  EXPECT_EQ(minutes("*/20"), bits({0, 20, 40}));
  EXPECT_EQ(minutes("1-10/3"), bits({1, 4, 7, 10}));
  EXPECT_EQ(minutes("1-9/3"), bits({1, 4, 7}));
  EXPECT_EQ(minutes("5/20"), bits({5, 25, 45}));
  EXPECT_EQ(minutes("58-59,*/30,07"), bits({0, 7, 30, 58, 59}));
  EXPECT_EQ(parsed("* * */10 * *").days_of_month, bits({1, 11, 21, 31}));
}

TEST(CronParse, names_stand_for_numbers_in_any_case) {
  EXPECT_EQ(parsed("* * * JAN,feb,Dec *").months, bits({1, 2, 12}));
  EXPECT_EQ(parsed("* * * mar-MAY *").months, bits({3, 4, 5}));
  EXPECT_EQ(parsed("* * * * sun,Mon,SAT").days_of_week, bits({0, 1, 6}));
  EXPECT_EQ(parsed("* * * * TUE-fri/2").days_of_week, bits({2, 4}));
}

TEST(CronParse, sunday_is_0_and_7_and_may_end_a_range) {
  EXPECT_EQ(parsed("* * * * 7").days_of_week, bits({0}));
  EXPECT_EQ(parsed("* * * * 5-7").days_of_week, bits({0, 5, 6}));
  EXPECT_EQ(parsed("* * * * FRI-SUN").days_of_week, bits({0, 5, 6}));
  EXPECT_EQ(parsed("* * * * 0-7").days_of_week, bits({0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(parsed("* * * * SUN-SUN").days_of_week, bits({0}));
}

TEST(CronParse, macros_are_the_fields_they_stand_for) {
  EXPECT_EQ(parsed("@yearly"), parsed("0 0 1 1 *"));
  EXPECT_EQ(parsed("@annually"), parsed("0 0 1 1 *"));
  EXPECT_EQ(parsed("@monthly"), parsed("0 0 1 * *"));
  EXPECT_EQ(parsed("@weekly"), parsed("0 0 * * 0"));
  EXPECT_EQ(parsed("@daily"), parsed("0 0 * * *"));
  EXPECT_EQ(parsed("@midnight"), parsed("0 0 * * *"));
  EXPECT_EQ(parsed(" @Hourly "), parsed("0 * * * *"));
}

TEST(CronParse, either_day_counts_only_if_neither_field_starts_with_a_star) {
  EXPECT_TRUE(parsed("* * 13 * FRI").either_day);
  EXPECT_TRUE(parsed("* * 1-31 * 0-6").either_day);
  EXPECT_FALSE(parsed("* * 13 * *").either_day);
  EXPECT_FALSE(parsed("* * * * FRI").either_day);
  EXPECT_FALSE(parsed("* * */2 * FRI").either_day);
  EXPECT_FALSE(parsed("* * 13 * */2").either_day);
}

TEST(CronParse, the_edges_of_every_field_are_accepted_and_one_past_refused) {
  for (const char* text : {"0 0 1 1 0", "59 23 31 12 7", "*/60 */24 */31 */12 */7"})
    EXPECT_EQ(refusal(text), "accepted") << text;
  const auto starts_with = [](std::string_view text, std::string_view start) {
    EXPECT_EQ(refusal(text).substr(0, start.size()), start) << text;
  };
  starts_with("60 * * * *", "cron minute \"60\": no such value; allowed are 0-59");
  starts_with("* 24 * * *", "cron hour \"24\": no such value; allowed are 0-23");
  starts_with("* * 0 * *", "cron day-of-month \"0\": no such value; allowed are 1-31");
  starts_with("* * 32 * *", "cron day-of-month \"32\": no such value; allowed are 1-31");
  starts_with("* * * 0 *", "cron month \"0\": no such value; allowed are 1-12 or JAN-DEC");
  starts_with("* * * 13 *", "cron month \"13\": no such value; allowed are 1-12 or JAN-DEC");
  starts_with("* * * * 8", "cron day-of-week \"8\": no such value; allowed are 0-7 or SUN-SAT");
  starts_with("*/61 * * * *", "cron minute \"*/61\": the step must be 1-60");
  starts_with("* */25 * * *", "cron hour \"*/25\": the step must be 1-24");
  starts_with("* * */32 * *", "cron day-of-month \"*/32\": the step must be 1-31");
  starts_with("* * * */13 *", "cron month \"*/13\": the step must be 1-12");
  starts_with("* * * * */8", "cron day-of-week \"*/8\": the step must be 1-7");
  starts_with("*/0 * * * *", "cron minute \"*/0\": the step must be 1-60");
}

TEST(CronParse, a_refusal_names_the_field_the_text_and_what_is_allowed) {
  EXPECT_EQ(refusal("1,x,3 * * * *"),
            "cron minute \"x\": no such value; allowed are 0-59, *, a range as 1-5, a step as */2, "
            "1-5/2 or 5/2, and lists of these");
  EXPECT_NE(refusal("* 9-5 * * *").find("hour \"9-5\": the range runs back"), std::string::npos);
  EXPECT_NE(refusal("@reboot").find("\"@reboot\": no such name; allowed are @yearly"),
            std::string::npos);
  EXPECT_NE(refusal("0 * * * * *").find("has 6 fields; it takes five: minute hour"),
            std::string::npos);
  EXPECT_NE(refusal("").find("has 0 fields"), std::string::npos);
}

TEST(CronParse, malformed_fields_are_refused) {
  for (const char* minute : {"?",    "L",     ",",    "1,",    ",1",
                             "-",    "-1",    "1-",   "1-2-3", "*-5",
                             "**",   "*5",    "*/",   "/5",    "*/5/2",
                             "*/-1", "+5",    "1.5",  "0x1",   "99999999999999999999",
                             "JAN",  "*/JAN", "\xff", "@daily"})
    EXPECT_NE(refusal(std::string(minute) + " * * * *"), "accepted") << minute;
  for (const char* text : {"* * * MONDAY *", "* * * * JAN", "* * * */JAN *", "* * * * MON#2", "@",
                           "@daily @daily", "* * * * *\n", "* * * *"})
    EXPECT_NE(refusal(text), "accepted") << text;
}

TEST(CronParse, a_date_that_never_comes_is_refused_and_a_leap_day_is_not) {
  EXPECT_EQ(refusal("0 0 30 2 *"),
            "cron day-of-month \"30\": never comes in month \"2\"; choose a day that exists");
  EXPECT_NE(refusal("0 0 30-31 FEB */2"), "accepted");
  EXPECT_NE(refusal("0 0 31 2,4,6,9,11 *"), "accepted");
  for (const char* text : {"0 0 29 2 *", "0 0 31 2-3 *", "0 0 30 4,6,9,11 *", "0 0 29-30 2 *"})
    EXPECT_EQ(refusal(text), "accepted") << text;
  // Or on Mondays: those February has.
  EXPECT_EQ(refusal("0 0 30 2 MON"), "accepted");
}

TEST(CronParse, the_longest_text_is_accepted_and_one_byte_more_refused) {
  std::string text = "* * * * *";
  text.append(kCronTextBytesMax - text.size(), ' ');
  EXPECT_EQ(refusal(text), "accepted");
  EXPECT_NE(refusal(text + ' ').find("longer than 512 bytes"), std::string::npos);
}

TEST(CronParse, messages_are_short_and_printable_whatever_the_text) {
  std::string text = "\n\x01\x7f\x80" + std::string(400, 'z');
  EXPECT_EQ(refusal(text + " * * * *").substr(0, 20), "cron minute \"????zzz");
  EXPECT_LT(refusal(text + " * * * *").size(), 200u);
}

}  // namespace
}  // namespace sluice
