// SPDX-License-Identifier: MIT
// When a repeating job is planned. The calendar is base/cron.h; here are the queue's syntax, its
// milliseconds, and the way back: which planned time was missed last.
#pragma once

#include <sluice/flow.h>
#include <sluice/result.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include "base/cron.h"
#include "queue/keys.h"

namespace sluice::queue {

/// A cron expression: five fields (minute hour day-of-month month day-of-week) or @yearly @annually
/// @monthly @weekly @daily @midnight @hourly. UTC. Planned times are whole minutes of the years
/// 1970 to 9999. A small value, free to copy; nothing here reads a clock or allocates except
/// parse().
///
/// A field is a list, separated by commas, of `*`, `a`, `a-b`, and with a step `*/n`, `a-b/n` and
/// `a/n`, which means `a-max/n`. Max is the last number that may be written, in day-of-week 7:
/// MON/2 is Monday, Wednesday, Friday, Sunday. Months may be written JAN-DEC, weekdays SUN-SAT, in
/// any case; 0 and 7 are both Sunday, and a range may end in SUN. Any other range that runs over
/// the end of its field is refused (fri-mon), and so is a step longer than its field. Fields are
/// separated by blanks (space, tab), and there may be blanks around them.
///
/// If both day fields are restricted, a day matches when either does; else both must match. A field
/// that begins with `*` (also `*/2`) is not restricted. This is Vixie's rule.
class Cron {
 public:
  /// A longer text is refused.
  static constexpr std::size_t kTextBytesMax = kCronBytesMax;
  /// Later than every planned time.
  static constexpr Millis kNever = std::numeric_limits<Millis>::max();

  /// `invalid_argument` says which field is wrong, what it may hold, and gives an example; also if
  /// it would never fire (30 February). Linear in the text.
  static Result<Cron> parse(std::string_view text);

  /// The first planned time later than `time`; kNever if there is none up to the end of 9999. Goes
  /// by month, day, hour and minute: well under a microsecond, except that a 29 February on a given
  /// weekday may look through 40 years.
  Millis next_after(Millis time) const;

  /// The last planned time that is at most `time` and later than `after`, if any: what to fire,
  /// once, after a downtime. Halves the interval, one next_after() each time: 24 of them for ten
  /// years, 50 for any interval, however often the expression fires.
  std::optional<Millis> last_between(Millis after, Millis time) const;

 private:
  explicit Cron(const CronExpression& expression) : expression_(expression) {}

  CronExpression expression_;
};

}  // namespace sluice::queue
