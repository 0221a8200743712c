// SPDX-License-Identifier: MIT
#include "cli/duration.h"

#include <array>
#include <cstdint>
#include <optional>

#include "cli/number.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t ns;
};
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1000 * kMillisecond;
constexpr std::uint64_t kMinute = 60 * kSecond;
constexpr std::uint64_t kHour = 60 * kMinute;
constexpr std::uint64_t kDay = 24 * kHour;
// The larger first: a unit may be followed only by those after it.
constexpr std::array<Unit, 8> kUnits = {{{"w", 7 * kDay},
                                         {"d", kDay},
                                         {"h", kHour},
                                         {"m", kMinute},
                                         {"s", kSecond},
                                         {"ms", kMillisecond},
                                         {"us", 1000},
                                         {"ns", 1}}};
constexpr std::uint64_t kNsMax = static_cast<std::uint64_t>(Duration::max().count());

Failure refuse(std::string_view text, std::string_view why) {
  std::string message = in_quotes(text);
  message.append(" is not a duration: ").append(why);
  message.append("; write for example 90s, 1h30m, 1.5h, 2d or 250ms");
  return error(Code::invalid_argument, std::move(message));
}

std::string_view take_unit_name(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && !is_digit(text[count])) ++count;
  const std::string_view name = text.substr(0, count);
  text.remove_prefix(count);
  return name;
}

std::optional<std::size_t> unit_index(std::string_view name) {
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (kUnits[i].name == name) return i;
  }
  return std::nullopt;
}

// How long a time is without its sign, also that of the most negative one.
std::uint64_t magnitude(std::int64_t ns) {
  return ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
}

std::string two_digits(std::uint64_t number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

// "3m12s", or "3m" if the second part is nothing.
std::string two_parts(std::uint64_t ns, const Unit& large, const Unit& small) {
  std::string text = std::to_string(ns / large.ns).append(large.name);
  const std::uint64_t rest = ns % large.ns / small.ns;
  if (rest == 0) return text;
  return text.append(small.ns == kHour ? std::to_string(rest) : two_digits(rest))
      .append(small.name);
}

std::string format_magnitude(std::uint64_t ns) {
  if (ns == 0) return "0s";
  if (ns < kMillisecond) return "<1ms";
  if (ns < kSecond) return std::to_string(ns / kMillisecond) + "ms";
  const std::uint64_t tenths = ns / (kSecond / 10);
  if (tenths < 100 && tenths % 10 != 0) {
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "s";
  }
  if (ns < kMinute) return std::to_string(ns / kSecond) + "s";
  if (ns < kHour) return two_parts(ns, {"m", kMinute}, {"s", kSecond});
  if (ns < kDay) return two_parts(ns, {"h", kHour}, {"m", kMinute});
  return two_parts(ns, {"d", kDay}, {"h", kHour});
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return refuse(text, "it is empty");
  if (text.starts_with('-')) return refuse(text, "it is negative");
  std::string_view rest = text;
  std::uint64_t sum = 0;
  for (std::size_t smallest_allowed = 0; !rest.empty();) {
    const bool first = rest.size() == text.size();
    const std::optional<Decimal> number = take_decimal(rest);
    if (!number) return refuse(text, "a number is expected at " + in_quotes(rest));
    std::string_view name = take_unit_name(rest);
    if (name.empty() && !first) return refuse(text, "the last number has no unit");
    if (name.empty()) name = "s";
    const std::optional<std::size_t> unit = unit_index(name);
    if (!unit) return refuse(text, "unknown unit " + in_quotes(name) + " (w d h m s ms us ns)");
    if (*unit < smallest_allowed) return refuse(text, "larger units go first, each once");
    smallest_allowed = *unit + 1;
    const std::optional<std::uint64_t> ns = times(*number, kUnits[*unit].ns, kNsMax - sum);
    if (!ns) return refuse(text, "it is longer than 292 years");
    sum += *ns;
  }
  return Duration(static_cast<std::int64_t>(sum));
}

std::string format_duration(Duration duration) {
  return (duration.count() < 0 ? "-" : "") + format_magnitude(magnitude(duration.count()));
}

std::string relative(WallTime t, WallTime now) {
  const bool past = t < now;
  // Unsigned, because two times may be further apart than a Duration can hold.
  const auto later = static_cast<std::uint64_t>((past ? now : t).time_since_epoch().count());
  const auto earlier = static_cast<std::uint64_t>((past ? t : now).time_since_epoch().count());
  const std::uint64_t ns = later - earlier;
  if (ns < kSecond) return "just now";
  const Unit unit = ns < kMinute ? Unit{"s", kSecond}
                    : ns < kHour ? Unit{"m", kMinute}
                    : ns < kDay  ? Unit{"h", kHour}
                                 : Unit{"d", kDay};
  const std::string distance = std::to_string(ns / unit.ns).append(unit.name);
  return past ? distance + " ago" : "in " + distance;
}

}  // namespace sluice::cli
