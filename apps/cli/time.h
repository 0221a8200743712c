// SPDX-License-Identifier: MIT
// Points in time as people and programs write them. UTC only: no locale, no time zone database.
// Pure and thread-safe.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <string>
#include <string_view>

namespace sluice::cli {

/// RFC 3339 in UTC with milliseconds, cut off: "2026-11-15T18:02:03.123Z". Any WallTime: the type
/// itself reaches from the year 1677 to the year 2262.
std::string format_time(WallTime t);

/// Reads one of:
///   2026-11-15T18:02:03.123Z       seconds and fraction (at most 9 digits) may be left out; a
///   blank 2026-11-15 18:02:03+01:00      may stand for the T; small t and z are good too
///   2026-11-15                     midnight UTC
///   18:02, 18:02:03                the next such time in UTC, strictly after `now`
///   +10m                           `now` and a duration, as for parse_duration()
///   @1700000000                    seconds since 1970, perhaps with a fraction
///
/// Fails with invalid_argument that names the text, what is wrong and examples: also for a day that
/// its month does not have, a date and time without an offset, a time before 1970, and one after
/// 2262-04-11T23:47:16.854775807Z, which a WallTime cannot hold. Leap seconds (:60) are refused.
Result<WallTime> parse_time(std::string_view text, WallTime now);

}  // namespace sluice::cli
