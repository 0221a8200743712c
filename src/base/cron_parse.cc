// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>
#include <string>
#include <vector>

#include "base/cron.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                      "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdays = {"SUN", "MON", "TUE", "WED",
                                                       "THU", "FRI", "SAT"};

struct Field {
  std::string_view name;
  unsigned low;
  unsigned high;                            ///< The last value that `*` means.
  unsigned limit;                           ///< The last value that may be written.
  std::span<const std::string_view> names;  ///< Of the values from `low` on.
  std::string_view values;                  ///< What may be written, for messages.
};

constexpr std::size_t kFieldCount = 5;
enum FieldIndex : std::size_t { kMinute, kHour, kDayOfMonth, kMonth, kDayOfWeek };
constexpr std::array<Field, kFieldCount> kFields = {{
    {"minute", 0, 59, 59, {}, "0-59"},
    {"hour", 0, 23, 23, {}, "0-23"},
    {"day-of-month", 1, 31, 31, {}, "1-31"},
    {"month", 1, 12, 12, kMonths, "1-12 or JAN-DEC"},
    {"day-of-week", 0, 6, 7, kWeekdays, "0-7 or SUN-SAT (0 and 7 are Sunday)"},
}};

struct Macro {
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array<Macro, 7> kMacros = {{{"@yearly", "0 0 1 1 *"},
                                           {"@annually", "0 0 1 1 *"},
                                           {"@monthly", "0 0 1 * *"},
                                           {"@weekly", "0 0 * * 0"},
                                           {"@daily", "0 0 * * *"},
                                           {"@midnight", "0 0 * * *"},
                                           {"@hourly", "0 * * * *"}}};

// Fit for a message: on one line and not long, whatever the text is.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string shown = "\"";
  for (char c : text.substr(0, kShown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown.append(text.size() > kShown ? "...\"" : "\"");
}

Failure refuse(std::string_view what, std::string_view text, std::string_view why) {
  std::string message(what);
  message.append(" ").append(quoted(text)).append(": ").append(why);
  return error(Code::invalid_argument, std::move(message));
}

bool same_letters(std::string_view a, std::string_view b) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  return std::ranges::equal(a, b, {}, upper, upper);
}

std::optional<unsigned> parse_number(std::string_view text) {
  unsigned number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<unsigned> parse_value(const Field& field, std::string_view text) {
  for (std::size_t i = 0; i < field.names.size(); ++i)
    if (same_letters(text, field.names[i])) return field.low + static_cast<unsigned>(i);
  const auto number = parse_number(text);
  if (!number || *number < field.low || *number > field.limit) return std::nullopt;
  return number;
}

Failure refuse_in(const Field& field, std::string_view item, std::string why) {
  why.append("; allowed are ").append(field.values);
  why.append(", *, a range as 1-5, a step as */2, 1-5/2 or 5/2, and lists of these");
  return refuse("cron " + std::string(field.name), item, why);
}

struct Range {
  unsigned first;
  unsigned last;
};

Result<Range> parse_range(const Field& field, std::string_view text, std::string_view item) {
  if (text == "*") return Range{field.low, field.high};
  const std::size_t dash = text.find('-');
  const bool single = dash == std::string_view::npos;
  const auto first = parse_value(field, text.substr(0, dash));
  auto last = single ? first : parse_value(field, text.substr(dash + 1));
  if (!first || !last) return refuse_in(field, item, "no such value");
  // Only for Sunday, which is both ends of its field: FRI-SUN is 5-7.
  if (field.limit > field.high && *first > 0 && *last == 0) last = field.limit;
  if (*first > *last) return refuse_in(field, item, "the range runs backwards");
  // With a step: from there to the end of the field.
  if (single && text.size() != item.size()) last = field.limit;
  return Range{*first, *last};
}

// One element of a list: a range and perhaps a step, as a set of bits.
Result<std::uint64_t> parse_item(const Field& field, std::string_view item) {
  const std::size_t slash = item.find('/');
  SLUICE_LET(range, parse_range(field, item.substr(0, slash), item));
  unsigned step = 1;
  if (slash != std::string_view::npos) {
    const unsigned step_max = field.high - field.low + 1;
    const auto number = parse_number(item.substr(slash + 1));
    if (!number || *number < 1 || *number > step_max)
      return refuse_in(field, item, "the step must be 1-" + std::to_string(step_max));
    step = *number;
  }
  std::uint64_t set = 0;
  for (unsigned value = range.first; value <= range.last; value += step)
    set |= std::uint64_t{1} << value;
  return set;
}

Result<std::uint64_t> parse_field(const Field& field, std::string_view text) {
  std::uint64_t set = 0;
  while (true) {
    const std::size_t comma = text.find(',');
    SLUICE_LET(item, parse_item(field, text.substr(0, comma)));
    set |= item;
    if (comma == std::string_view::npos) return set;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string_view> split_at_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string_view> words;
  for (std::size_t start = text.find_first_not_of(kBlanks); start != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, start), text.size());
    words.push_back(text.substr(start, end - start));
    start = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

// Whether some year has a date that matches. Every date falls on every weekday in some year, so
// only the lengths of the months can be in the way.
bool can_match(const CronExpression& cron) {
  constexpr std::array<int, 13> kLongest = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int longest = 0;
  for (unsigned month = 1; month <= 12; ++month)
    if ((cron.months >> month & 1) != 0) longest = std::max(longest, kLongest[month]);
  return cron.either_day || std::countr_zero(cron.days_of_month) <= longest;
}

Result<CronExpression> parse_fields(const std::vector<std::string_view>& words) {
  std::array<std::uint64_t, kFieldCount> sets{};
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    SLUICE_LET(set, parse_field(kFields[i], words[i]));
    sets[i] = set;
  }
  CronExpression cron;
  cron.minutes = sets[kMinute];
  cron.hours = static_cast<std::uint32_t>(sets[kHour]);
  cron.days_of_month = static_cast<std::uint32_t>(sets[kDayOfMonth]);
  cron.months = static_cast<std::uint16_t>(sets[kMonth]);
  cron.days_of_week = static_cast<std::uint8_t>((sets[kDayOfWeek] | sets[kDayOfWeek] >> 7) & 0x7f);
  cron.either_day = words[kDayOfMonth].front() != '*' && words[kDayOfWeek].front() != '*';
  if (!can_match(cron)) {
    return refuse("cron day-of-month", words[kDayOfMonth],
                  "never comes in month " + quoted(words[kMonth]) + "; choose a day that exists");
  }
  return cron;
}

}  // namespace

Result<CronExpression> parse_cron(std::string_view text) {
  if (text.size() > kCronTextBytesMax) {
    return refuse("cron", text,
                  "longer than " + std::to_string(kCronTextBytesMax) + " bytes; use ranges");
  }
  const std::vector<std::string_view> words = split_at_blanks(text);
  if (words.size() == 1 && words[0].front() == '@') {
    for (const Macro& macro : kMacros)
      if (same_letters(words[0], macro.name)) return parse_fields(split_at_blanks(macro.meaning));
    return refuse("cron", words[0],
                  "no such name; allowed are @yearly, @annually, @monthly, @weekly, @daily, "
                  "@midnight, @hourly");
  }
  if (words.size() != kFieldCount) {
    return refuse("cron", text,
                  "has " + std::to_string(words.size()) +
                      " fields; it takes five: minute hour day-of-month month day-of-week");
  }
  return parse_fields(words);
}

}  // namespace sluice
