// SPDX-License-Identifier: MIT
#include "cli/number.h"

#include <charconv>

namespace sluice::cli {

std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::optional<Decimal> take_decimal(std::string_view& text) {
  std::string_view rest = text;
  Decimal number{.whole = take_digits(rest), .fraction = {}};
  if (number.whole.empty()) return std::nullopt;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    number.fraction = take_digits(rest);
    if (number.fraction.empty()) return std::nullopt;
  }
  text = rest;
  return number;
}

std::optional<std::uint64_t> times(const Decimal& number, std::uint64_t unit, std::uint64_t max) {
  std::uint64_t whole = 0;
  const char* const end = number.whole.data() + number.whole.size();
  if (std::from_chars(number.whole.data(), end, whole).ec != std::errc()) return std::nullopt;
  // From the last digit on: cutting off at each division gives the same as cutting off once.
  std::uint64_t part = 0;
  for (std::size_t i = number.fraction.size(); i-- > 0;) {
    part = (static_cast<std::uint64_t>(number.fraction[i] - '0') * unit + part) / 10;
  }
  if (part > max || whole > (max - part) / unit) return std::nullopt;
  return whole * unit + part;
}

}  // namespace sluice::cli
