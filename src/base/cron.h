// SPDX-License-Identifier: MIT
// Cron expressions: when a schedule fires next. UTC only, so there is no hour that a change of
// summer time skips or repeats.
#pragma once

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// A longer text is refused; every minute of the hour as a list takes 169 bytes.
inline constexpr std::size_t kCronTextBytesMax = 512;
/// Nothing fires outside these years.
inline constexpr int kCronYearFirst = 1970;
inline constexpr int kCronYearLast = 9999;

/// A minute of the UTC calendar. `std::chrono::floor<std::chrono::minutes>(clock.wall())` makes one
/// of a WallTime; it converts back by itself.
using UtcMinute = std::chrono::sys_time<std::chrono::minutes>;

/// The minutes at which something is to happen. A small value, made by parse_cron(); as it stands,
/// every minute. Each set has bit number n for value n, and at least one bit.
struct CronExpression {
  std::uint64_t minutes = (std::uint64_t{1} << 60) - 1;  ///< Bits 0-59.
  std::uint32_t hours = (1u << 24) - 1;                  ///< Bits 0-23.
  std::uint32_t days_of_month = 0xffff'fffe;             ///< Bits 1-31.
  std::uint16_t months = 0x1ffe;                         ///< Bits 1-12.
  std::uint8_t days_of_week = 0x7f;                      ///< Bits 0-6, Sunday is 0.
  bool either_day = false;  ///< A day matches by one of the two day sets; otherwise by both.

  friend bool operator==(const CronExpression&, const CronExpression&) = default;
};

/// Reads five fields, separated by blanks: minute (0-59), hour (0-23), day-of-month (1-31), month
/// (1-12 or JAN-DEC) and day-of-week (0-7 or SUN-SAT; 0 and 7 are Sunday; a range may end in SUN).
/// A field is a list, separated by commas, of `*`, `a`, `a-b`, `*/n` and `a-b/n`. Or reads one of
/// @yearly @annually @monthly @weekly @daily @midnight @hourly. Names in any case of letters.
///
/// As Vixie's cron has it: if both day fields are restricted, a day matches by either; a field that
/// starts with `*` (also `*/2`) is not restricted. `a/n` is refused, as Debian's cron does: others
/// take it as `a` alone or as `a-last/n`. A step longer than its field is refused.
///
/// Fails with invalid_argument that names the field, the text and what is allowed; also if no date
/// can ever match, such as 30 February (29 February can). Linear in the text.
Result<CronExpression> parse_cron(std::string_view text);

/// The first minute strictly after `after` that matches, within the years kCronYearFirst to
/// kCronYearLast; nothing if there is none. Every set must have a bit (checked). Goes by field, not
/// by minute: well under a microsecond, except that a 29 February on a given weekday may look
/// through 40 years.
std::optional<UtcMinute> next_after(const CronExpression& cron, UtcMinute after);

}  // namespace sluice
