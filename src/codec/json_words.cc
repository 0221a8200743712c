// SPDX-License-Identifier: MIT
#include "codec/json_words.h"

#include <algorithm>

#include "codec/json.h"

namespace sluice::codec::json {
namespace {

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::string hex(unsigned value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i > 0; --i, value >>= 4)
    text[i - 1] = "0123456789ABCDEF"[value & 15];
  return text;
}

std::string shown(std::string_view text) {
  if (text.size() <= kShownBytesMax) return std::string(text);
  std::size_t size = kShownBytesMax;
  while ((text[size] & 0xc0) == 0x80) --size;
  return std::string(text.substr(0, size)) + "...";
}

std::string quoted(std::string_view text) {
  return Writer().string(shown(text)).take();
}

std::string found(std::string_view rest) {
  if (rest.empty()) return "the end of the text";
  if (rest.starts_with("//") || rest.starts_with("/*")) return "a comment, which JSON has not";
  if (rest.starts_with("\xef\xbb\xbf")) return "a byte order mark";
  const std::size_t size = utf8_character_bytes(rest);
  const auto byte = static_cast<unsigned char>(rest[0]);
  if (size == 0) return "the byte 0x" + hex(byte, 2) + ", which is not UTF-8";
  if (byte < 0x20 || byte == 0x7f) return "the control character U+" + hex(byte, 4);
  const auto word_end = std::ranges::find_if_not(rest, is_word);
  const auto word = static_cast<std::size_t>(word_end - rest.begin());
  return "'" + shown(rest.substr(0, std::max(size, word))) + "'";
}

std::string place_after(std::string_view before) {
  const auto lines = 1 + std::ranges::count(before, '\n');
  const std::string_view line = before.substr(before.rfind('\n') + 1);
  const auto column =
      1 + std::ranges::count_if(line, [](char byte) { return (byte & 0xc0) != 0x80; });
  return "line " + std::to_string(lines) + ", column " + std::to_string(column);
}

}  // namespace sluice::codec::json
