// SPDX-License-Identifier: MIT
#include "codec/percent.h"

namespace sluice::codec {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

int digit_of(char c) {
  const char upper = c >= 'a' && c <= 'f' ? static_cast<char>(c - ('a' - 'A')) : c;
  const std::size_t at = kDigits.find(upper);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

}  // namespace

std::string percent_encode(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (is_unreserved(c)) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return bytes;
}

}  // namespace sluice::codec
