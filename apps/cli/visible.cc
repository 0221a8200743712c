// SPDX-License-Identifier: MIT
#include "cli/visible.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <span>

#include "cli/width_table.h"

namespace sluice::cli {
namespace {

// Invisible characters, those that turn the direction of writing or end a line, and tags.
constexpr CharRange kHidden[] = {{0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                                 {0x180e, 0x180e}, {0x200b, 0x200b},  {0x200e, 0x200f},
                                 {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                                 {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

bool within(std::span<const CharRange> ranges, char32_t character) {
  const auto after = std::ranges::upper_bound(ranges, character, {}, &CharRange::first);
  return after != ranges.begin() && character <= std::prev(after)->last;
}

// The first character of a text: its number and bytes.
struct Decoded {
  char32_t character = 0;
  std::size_t bytes = 1;
  bool valid = false;  ///< Otherwise one byte that is not UTF-8.
};

// Takes only the shortest form, no halves of surrogates, nothing above U+10FFFF.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {.character = lead, .bytes = 1, .valid = true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t character = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return {};
    character = (character << 6) | (byte(i) & 0x3fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  if (character < kLeast[bytes] || character > 0x10ffff || surrogate) return {};
  return {.character = character, .bytes = bytes, .valid = true};
}

std::string escape(const Decoded& decoded, unsigned char byte) {
  switch (decoded.valid ? decoded.character : 0) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  char text[16];
  if (decoded.bytes == 1) {
    std::snprintf(text, sizeof text, "\\x%02x", unsigned{byte});
  } else {
    const char* const format = decoded.character > 0xffff ? "\\U%08x" : "\\u%04x";
    std::snprintf(text, sizeof text, format, static_cast<unsigned>(decoded.character));
  }
  return text;
}

}  // namespace

std::string visible(std::string_view text, Charset charset) {
  std::string shown;
  // A mark needs a character before it: at the front it would join the column on the left.
  std::size_t marks = kMarksMax;
  while (!text.empty()) {
    const Decoded next = decode(text);
    const bool mark = next.valid && char_width(next.character) == 0;
    const bool harmless = next.valid && next.character >= 0x20 && !within(kHidden, next.character);
    const bool known = charset == Charset::utf8 || next.character < 0x80;
    if (harmless && known && !(mark && marks == kMarksMax)) {
      shown += text.substr(0, next.bytes);
      marks = mark ? marks + 1 : 0;
    } else {
      shown += escape(next, static_cast<unsigned char>(text.front()));
      marks = kMarksMax;
    }
    text.remove_prefix(next.bytes);
  }
  return shown;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return "\"" + cut(visible(text), kShown, Charset::ascii) + "\"";
}

std::size_t char_width(char32_t character) {
  if (character < 0x300) return 1;
  if (within(kZeroWidth, character)) return 0;
  return within(kWide, character) ? 2 : 1;
}

std::size_t text_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Decoded next = decode(text);
    width += next.valid ? char_width(next.character) : 1;
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string cut(std::string_view text, std::size_t width, Charset charset) {
  const std::string_view ellipsis = charset == Charset::utf8 ? "…" : "...";
  const std::size_t ellipsis_width = charset == Charset::utf8 ? 1 : 3;
  if (width < ellipsis_width) {
    if (text_width(text) <= width) return std::string(text);
    return std::string(ellipsis.substr(0, charset == Charset::utf8 ? 0 : width));
  }
  std::size_t kept = 0;  // The bytes that leave room for the ellipsis, in case one is needed.
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode(text.substr(at));
    used += next.valid ? char_width(next.character) : 1;
    if (used > width) return std::string(text.substr(0, kept)).append(ellipsis);
    at += next.bytes;
    if (used <= width - ellipsis_width) kept = at;
  }
  return std::string(text);
}

}  // namespace sluice::cli
