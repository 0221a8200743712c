// SPDX-License-Identifier: MIT
// Durations as people write and read them: "1h30m" in, "3m12s" out. Pure and thread-safe.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <string>
#include <string_view>

namespace sluice::cli {

/// Reads "90" or "1.5" (seconds), or numbers with units, the larger unit first and each once: w, d,
/// h, m, s, ms, us, ns, as in "90s", "1.5h", "1h30m", "250ms". A fraction finer than a nanosecond
/// is cut off. No sign, no blanks.
///
/// Fails with invalid_argument that names the text, what is wrong and examples; also if it is
/// longer than Duration::max(), about 292 years.
Result<Duration> parse_duration(std::string_view text);

/// The two largest units, cut off, not rounded: "0s", "<1ms", "850ms", "2.3s" (below 10 s), "45s",
/// "3m12s", "2h05m", "4d3h". A second part of zero is left out: "2s", "3m", "2h", "4d". Negative
/// ones begin with "-".
std::string format_duration(Duration duration);

/// Where `t` lies as seen from `now`, in one unit, cut off: "just now" (less than a second away),
/// "12s ago", "in 3m", "2h ago", "5d ago". Any two times.
std::string relative(WallTime t, WallTime now);

}  // namespace sluice::cli
