// SPDX-License-Identifier: MIT
// Numbers at the front of a text, exact and without the locale. For the parsers of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::cli {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes the digits off the front of `text`, perhaps none.
std::string_view take_digits(std::string_view& text);

/// A decimal number as it was written: "1.5" is {"1", "5"}.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;  ///< Empty if there is none.
};

/// Takes "1" or "1.5" off the front of `text`; nothing (and `text` as it was) if it does not begin
/// with a digit, or if no digit follows the point.
std::optional<Decimal> take_decimal(std::string_view& text);

/// `number` times `unit`, exact, cut off to a whole number; nothing if it is above `max`. `unit` is
/// at most 2^60.
std::optional<std::uint64_t> times(const Decimal& number, std::uint64_t unit, std::uint64_t max);

}  // namespace sluice::cli
