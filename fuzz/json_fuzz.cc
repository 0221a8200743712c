// SPDX-License-Identifier: MIT
// Whatever parse accepts is written and read back as the same value, in both layouts, and its text
// is then settled. What it refuses, it refuses in one line that points into the input. The input as
// a string of any bytes can be written and read.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/json.h"

namespace {

using namespace sluice;
using namespace sluice::codec;

std::size_t take_number(std::string_view& text, std::string_view before) {
  SLUICE_CHECK(text.starts_with(before));
  text.remove_prefix(before.size());
  std::size_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  SLUICE_CHECK(parsed.ec == std::errc() && number > 0);
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return number;
}

struct Measured {
  std::size_t characters = 0;
  bool all_utf8 = false;
};

/// Counts the characters before the end or the first byte that is not UTF-8.
Measured measure(std::string_view text) {
  Measured result;
  for (; const std::size_t size = json::utf8_character_bytes(text); ++result.characters)
    text.remove_prefix(size);
  result.all_utf8 = text.empty();
  return result;
}

void check_refusal(std::string_view input, const Status& status) {
  SLUICE_CHECK(status.code() == Code::invalid_argument);
  std::string_view message = status.message();
  SLUICE_CHECK(measure(message).all_utf8);
  SLUICE_CHECK(std::ranges::none_of(message, [](char c) { return c >= 0 && c < ' '; }));
  const std::size_t line = take_number(message, "line ");
  const std::size_t column = take_number(message, ", column ");
  SLUICE_CHECK(message.starts_with(": "));
  for (std::size_t i = 1; i < line; ++i) {
    SLUICE_CHECK(input.find('\n') != input.npos);
    input.remove_prefix(input.find('\n') + 1);
  }
  SLUICE_CHECK(column <= measure(input.substr(0, input.find('\n'))).characters + 1);
}

void check_settled(const json::Value& value, json::Layout layout) {
  const std::string text = json::to_text(value, layout);
  const auto again = json::parse(text);
  SLUICE_CHECK(again && *again == value);
  SLUICE_CHECK(json::to_text(*again, layout) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto value = json::parse(input)) {
    check_settled(*value, json::Layout::compact);
    check_settled(*value, json::Layout::pretty);
  } else {
    check_refusal(input, value.error());
  }
  const auto text = json::parse(json::Writer().string(input).take());
  SLUICE_CHECK(text && text->kind() == json::Kind::string);
  check_settled(*text, json::Layout::compact);
  return 0;
}
