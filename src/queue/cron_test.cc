// SPDX-License-Identifier: MIT
#include "queue/cron.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

constexpr Millis kMinute = 60'000;
constexpr Millis kDay = 24 * 60 * kMinute;
constexpr Millis kMost = std::numeric_limits<Millis>::max();

Millis at(std::chrono::year_month_day date, unsigned hour = 0, unsigned minute = 0) {
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<Millis>(days) * kDay + (hour * 60 + minute) * kMinute;
}

Cron parsed(std::string_view text) {
  Result<Cron> cron = Cron::parse(text);
  EXPECT_TRUE(cron.has_value()) << text << ": " << status_of(cron).to_string();
  return cron ? *cron : Cron::parse("@yearly").value();
}

std::string refusal(std::string_view text) {
  const Result<Cron> cron = Cron::parse(text);
  if (cron) return "accepted";
  EXPECT_EQ(cron.error().code(), Code::invalid_argument) << text;
  return cron.error().message();
}

TEST(CronTest, an_expression_has_the_next_time_that_its_fields_say) {
  struct Row {
    std::string_view text;
    Millis time;
    Millis next;
  };
  const Millis monday = at(2024y / 5 / 6, 7, 8);
  const Row rows[] = {
      {"* * * * *", monday, at(2024y / 5 / 6, 7, 9)},
      {" \t*  *\t* * * ", monday, at(2024y / 5 / 6, 7, 9)},
      {"8 7 * * *", monday, at(2024y / 5 / 7, 7, 8)},
      {"*/20 * * * *", monday, at(2024y / 5 / 6, 7, 20)},
      {"1-13/3 * * * *", monday, at(2024y / 5 / 6, 7, 10)},
      {"30-40,5 * * * *", monday, at(2024y / 5 / 6, 7, 30)},
      {"17/20 9/7 * * *", monday, at(2024y / 5 / 6, 9, 17)},
      {"17/20 9/7 * * *", at(2024y / 5 / 6, 9, 57), at(2024y / 5 / 6, 16, 17)},
      {"17/20 9/7 * * *", at(2024y / 5 / 6, 23, 57), at(2024y / 5 / 7, 9, 17)},
      {"0 0 28/2 nov/1 *", monday, at(2024y / 11 / 28)},
      {"0 0 28/2 nov/1 *", at(2024y / 11 / 30), at(2024y / 12 / 28)},
      {"0 0 28/2 nov/1 *", at(2024y / 12 / 30), at(2025y / 11 / 28)},
      {"0 0 * * mon/3", at(2024y / 5 / 6), at(2024y / 5 / 9)},
      {"0 0 * * mon/3", at(2024y / 5 / 9), at(2024y / 5 / 12)},
      {"0 0 * * mon/3", at(2024y / 5 / 12), at(2024y / 5 / 13)},
      {"0 0 1 Aug-OCT *", monday, at(2024y / 8 / 1)},
      {"0 0 * * sAt", monday, at(2024y / 5 / 11)},
      {"0 0 * * 0", monday, at(2024y / 5 / 12)},
      {"0 0 * * 7", monday, at(2024y / 5 / 12)},
      {"0 0 * * 7/2", at(2024y / 5 / 12), at(2024y / 5 / 19)},
      {"0 0 * * fri-sun", at(2024y / 5 / 11), at(2024y / 5 / 12)},
      {"0 0 * * fri-sat,sun-mon", at(2024y / 5 / 12), at(2024y / 5 / 13)},
      {"0 0 13 * fri", at(2024y / 5 / 10), at(2024y / 5 / 13)},
      {"0 0 13 * fri", at(2024y / 5 / 13), at(2024y / 5 / 17)},
      {"0 0 1-31 * fri", at(2024y / 5 / 13), at(2024y / 5 / 14)},
      {"0 0 */2 * fri", at(2024y / 5 / 3), at(2024y / 5 / 17)},
      {"0 0 13 * */5", at(2024y / 5 / 10), at(2024y / 9 / 13)},
      {"0 0 31 * *", at(2024y / 5 / 31), at(2024y / 7 / 31)},
      {"0 0 29 2 *", monday, at(2028y / 2 / 29)},
      {"0 0 29 2 *", at(2096y / 2 / 29), at(2104y / 2 / 29)},
      {"0 0 29 2 */7", at(2088y / 2 / 29), at(2128y / 2 / 29)},
      {"@yearly", monday, at(2025y / 1 / 1)},
      {"@annually", monday, at(2025y / 1 / 1)},
      {"@monthly", monday, at(2024y / 6 / 1)},
      {"@weekly", monday, at(2024y / 5 / 12)},
      {"@daily", monday, at(2024y / 5 / 7)},
      {"@midnight", monday, at(2024y / 5 / 7)},
      {"\t@Hourly ", monday, at(2024y / 5 / 6, 8)},
  };
  for (const Row& row : rows)
    EXPECT_EQ(parsed(row.text).next_after(row.time), row.next) << row.text << " " << row.time;
}

TEST(CronTest, a_refusal_says_what_is_wrong_and_what_to_write) {
  struct Row {
    std::string_view text;
    std::vector<std::string_view> words;
  };
  const Row rows[] = {
      {"60 * * * *", {"minute", "\"60\"", "0-59"}},
      {"* 24 * * *", {"hour", "\"24\"", "0-23"}},
      {"* * 0 * *", {"day-of-month", "\"0\"", "1-31"}},
      {"* * 32 * *", {"day-of-month", "\"32\"", "1-31"}},
      {"* * * 13 *", {" month", "\"13\"", "1-12 or JAN-DEC"}},
      {"* * * may-foo *", {" month", "\"may-foo\"", "1-12 or JAN-DEC"}},
      {"* * * * 8", {"day-of-week", "\"8\"", "0-7 or SUN-SAT"}},
      {"* * * * jan", {"day-of-week", "\"jan\"", "0-7 or SUN-SAT"}},
      {"* * * * fri-mon", {"day-of-week", "\"fri-mon\"", "backwards", "fri-sat,sun-mon"}},
      {"* 22-5 * * *", {"hour", "\"22-5\"", "backwards", "written as two"}},
      {"*/0 * * * *", {"minute", "\"*/0\"", "step must be 1-60"}},
      {"*/61 * * * *", {"minute", "\"*/61\"", "step must be 1-60"}},
      {"* 3/25 * * *", {"hour", "\"3/25\"", "step must be 1-24"}},
      {"61/2 * * * *", {"minute", "\"61/2\"", "no such value"}},
      {"5/ * * * *", {"minute", "step must be"}},
      {"/5 * * * *", {"minute", "\"/5\"", "no such value"}},
      {"1//5 * * * *", {"minute", "step must be"}},
      {"1,,2 * * * *", {"minute", "\"\"", "no such value"}},
      {"1, * * * *", {"minute", "\"\"", "no such value"}},
      {"-1 * * * *", {"minute", "\"-1\"", "no such value"}},
      {"? * * * *", {"minute", "\"?\"", "no such value"}},
      {"* * L * *", {"day-of-month", "\"L\"", "no such value"}},
      {"* * * * *\n", {"day-of-week", "\"*?\"", "no such value"}},
      {"0 0 30 2 *", {"day-of-month", "\"30\"", "never comes", "\"2\""}},
      {"0 0 31/1 2,apr-jul/2 *", {"day-of-month", "\"31/1\"", "never comes"}},
      {"", {"0 fields", "takes five: minute hour day-of-month month day-of-week"}},
      {" \t ", {"0 fields", "takes five"}},
      {"* * * *", {"4 fields", "takes five"}},
      {"*/5 * * * * *", {"6 fields", "takes five", "Leave out seconds", "with a delay"}},
      {"0 0 12 * * ? 2024", {"7 fields", "takes five", "Leave out seconds and years"}},
      {"1 2 3 4 5 6 7 8", {"8 fields", "takes five"}},
      {"@reboot", {"@reboot", "not a planned time", "enqueue the job where the program starts"}},
      {"@REBOOT", {"@reboot", "not a planned time"}},
      {"@every 5m", {"@every", "use a step", "\"*/5 * * * *\""}},
      {"@dayly", {"\"@dayly\"", "@yearly, @annually, @monthly, @weekly, @daily, @midnight"}},
      {"@daily @daily", {"2 fields", "takes five"}},
  };
  for (const Row& row : rows) {
    const std::string message = refusal(row.text);
    EXPECT_TRUE(message.starts_with("cron ")) << row.text << ": " << message;
    EXPECT_NE(message.find("for example \"*/15 9-17 * * mon-fri\""), std::string::npos) << message;
    for (std::string_view word : row.words)
      EXPECT_NE(message.find(word), std::string::npos) << row.text << ": " << message;
  }
}

TEST(CronTest, the_example_of_a_refusal_is_accepted) {
  EXPECT_EQ(refusal("*/15 9-17 * * mon-fri"), "accepted");
  EXPECT_EQ(refusal("* * * * fri-sat,sun-mon"), "accepted");
}

TEST(CronTest, the_longest_text_is_accepted_and_one_byte_more_refused) {
  // Steps without an end are what grows when it is written out.
  std::string text = "0/1";
  while (text.size() + 4 <= Cron::kTextBytesMax - 8) text += ",0/1";
  text += " * * * *";
  text.insert(0, Cron::kTextBytesMax - text.size(), ' ');
  EXPECT_EQ(refusal(text), "accepted");
  EXPECT_NE(refusal(text + ' ').find("257 bytes long, more than 256"), std::string::npos);
}

TEST(CronTest, the_next_time_is_later_however_little_is_left_of_the_minute) {
  const Cron cron = parsed("* * * * *");
  const Millis minute = at(2024y / 5 / 6, 7, 8);
  EXPECT_EQ(cron.next_after(minute - 1), minute);
  EXPECT_EQ(cron.next_after(minute), minute + kMinute);
  EXPECT_EQ(cron.next_after(minute + kMinute - 1), minute + kMinute);
  EXPECT_EQ(cron.next_after(0), kMinute);
}

TEST(CronTest, nothing_is_planned_after_the_year_9999) {
  const Millis last = at(9999y / 12 / 31, 23, 59);
  const Cron cron = parsed("* * * * *");
  EXPECT_EQ(cron.next_after(last - 1), last);
  EXPECT_EQ(cron.next_after(last), Cron::kNever);
  EXPECT_EQ(cron.next_after(kMost), Cron::kNever);
  EXPECT_EQ(cron.last_between(0, kMost), last);
  EXPECT_EQ(cron.last_between(last - 1, kMost), last);
  EXPECT_EQ(cron.last_between(last, kMost), std::nullopt);
  EXPECT_EQ(parsed("0 0 29 2 *").next_after(at(9996y / 2 / 29)), Cron::kNever);
  EXPECT_EQ(parsed("0 0 29 2 *").last_between(0, kMost), at(9996y / 2 / 29));
}

TEST(CronTest, the_last_time_is_later_than_one_end_and_may_be_the_other) {
  const Cron cron = parsed("@hourly");
  const Millis eight = at(2024y / 5 / 6, 8), nine = at(2024y / 5 / 6, 9);
  EXPECT_EQ(cron.last_between(eight, nine), nine);
  EXPECT_EQ(cron.last_between(eight, nine - 1), std::nullopt);
  EXPECT_EQ(cron.last_between(eight - 1, nine - 1), eight);
  EXPECT_EQ(cron.last_between(nine - 1, nine), nine);
  EXPECT_EQ(cron.last_between(nine, nine), std::nullopt);
  EXPECT_EQ(cron.last_between(nine, eight), std::nullopt);
  EXPECT_EQ(cron.last_between(nine + 1, nine + 2), std::nullopt);
  EXPECT_EQ(cron.last_between(kMost, 0), std::nullopt);
}

TEST(CronTest, after_years_of_downtime_the_last_time_is_found) {
  const Millis from = at(2014y / 1 / 2, 3, 4), to = at(2024y / 5 / 6, 7, 8);
  EXPECT_EQ(parsed("* * * * *").last_between(from, to), to);
  EXPECT_EQ(parsed("@hourly").last_between(from, to), at(2024y / 5 / 6, 7));
  EXPECT_EQ(parsed("9 7 * * *").last_between(from, to), at(2024y / 5 / 5, 7, 9));
  EXPECT_EQ(parsed("@yearly").last_between(from, to), at(2024y / 1 / 1));
  EXPECT_EQ(parsed("0 0 29 2 *").last_between(from, at(2024y / 2 / 28)), at(2020y / 2 / 29));
  EXPECT_EQ(parsed("0 0 29 2 */7").last_between(from, to), std::nullopt);
  EXPECT_EQ(parsed("0 0 29 2 */7").last_between(0, to), at(2004y / 2 / 29));
}

}  // namespace
}  // namespace sluice::queue
