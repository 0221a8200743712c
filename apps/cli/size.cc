// SPDX-License-Identifier: MIT
#include "cli/size.h"

#include <limits>
#include <optional>

#include "cli/number.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

// In the order of their powers of 1024, from the first on.
constexpr std::string_view kPrefixes = "KMGTPE";

Failure bad_size(std::string_view text, std::string_view why) {
  std::string message = in_quotes(text);
  message.append(" is not a size: ").append(why);
  message.append("; write for example 100, 64K, 10MiB or 1.5G (powers of 1024)");
  return error(Code::invalid_argument, std::move(message));
}

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// "", "B", "K", "KB" and "KiB" in any case; the power of 1024 that the unit means.
std::optional<unsigned> power_of(std::string_view unit) {
  unsigned power = 0;
  if (!unit.empty()) {
    const std::size_t at = kPrefixes.find(upper(unit.front()));
    if (at != std::string_view::npos) {
      power = static_cast<unsigned>(at) + 1;
      unit.remove_prefix(1);
      if (unit.size() == 2 && upper(unit.front()) == 'I') unit.remove_prefix(1);
    }
  }
  if (unit.empty() || (unit.size() == 1 && upper(unit.front()) == 'B')) return power;
  return std::nullopt;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  if (text.empty()) return bad_size(text, "it is empty");
  if (text.starts_with('-')) return bad_size(text, "it is negative");
  std::string_view rest = text;
  const std::optional<Decimal> number = take_decimal(rest);
  if (!number) return bad_size(text, "it does not begin with a number");
  if (rest.size() > 1 && rest.starts_with(' ')) rest.remove_prefix(1);
  const std::optional<unsigned> power = power_of(rest);
  if (!power) return bad_size(text, "unknown unit " + in_quotes(rest));
  const auto bytes =
      times(*number, std::uint64_t{1} << (10 * *power), std::numeric_limits<std::uint64_t>::max());
  if (!bytes) return bad_size(text, "it is more than 16 EiB");
  return *bytes;
}

std::string format_size(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  std::size_t prefix = 0;
  std::uint64_t unit = 1024;
  const auto rounded_tenths = [&] {
    // In two parts, because ten times the number of bytes may not fit.
    return bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit;
  };
  // What rounds to 1024 of one unit is 1 of the next.
  while (prefix + 1 < kPrefixes.size() && rounded_tenths() >= 10'240) {
    unit *= 1024;
    ++prefix;
  }
  const std::uint64_t tenths = rounded_tenths();
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text.append(".").append(std::to_string(tenths % 10));
  return text.append(" ").append(1, kPrefixes[prefix]).append("iB");
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string plural(std::uint64_t count, std::string_view noun) {
  return format_count(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace sluice::cli
