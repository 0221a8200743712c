// SPDX-License-Identifier: MIT
#include "kv/keys.h"

#include <algorithm>

#include "base/check.h"
#include "codec/tuple.h"

namespace sluice::kv {

static_assert(kMarkBytes == codec::kMarkBytes, "a tuple holds a mark as it is");

std::string after_prefix(std::string_view prefix) {
  std::string next(prefix);
  while (!next.empty() && next.back() == '\xff') next.pop_back();
  SLUICE_CHECK(!next.empty());
  next.back() = static_cast<char>(static_cast<unsigned char>(next.back()) + 1);
  return next;
}

std::string printable(std::string_view key) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::size_t kShownMax = 64;
  std::string text;
  for (const char c : key.substr(0, kShownMax)) {
    if (c >= ' ' && c <= '~' && c != '\\') {
      text.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text.append("\\x").append({kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  if (key.size() > kShownMax) text.append("...");
  return text;
}

Range Range::prefix(std::string_view prefix) {
  SLUICE_CHECK(is_user_key(prefix));
  return {std::string(prefix), after_prefix(prefix)};
}

Range Range::all() {
  return {"", std::string(1, kReservedLast)};
}

bool is_user_key(std::string_view key) {
  return !key.empty() && key.front() != kReservedFirst && key.front() != kReservedLast;
}

void append(std::string& bytes, const Mark& mark) {
  const std::size_t at = bytes.size();
  bytes.resize(at + kMarkBytes);
  char* to = bytes.data() + at;
  *to++ = static_cast<char>(mark.epoch >> 8);
  *to++ = static_cast<char>(mark.epoch);
  to = std::copy(mark.stamp.bytes.begin(), mark.stamp.bytes.end(), to);
  for (int shift = 24; shift >= 0; shift -= 8) *to++ = static_cast<char>(mark.ordinal >> shift);
}

std::string Mark::encode() const {
  std::string bytes;
  append(bytes, *this);
  return bytes;
}

Result<Mark> Mark::decode(std::string_view bytes) {
  if (bytes.size() != kMarkBytes)
    return error(Code::corrupt, "a mark is 16 bytes, not " + std::to_string(bytes.size()));
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  Mark mark;
  mark.epoch = static_cast<std::uint16_t>(byte(0) << 8 | byte(1));
  for (std::size_t i = 0; i < mark.stamp.bytes.size(); ++i) mark.stamp.bytes[i] = byte(2 + i);
  for (std::size_t i = 12; i < kMarkBytes; ++i) mark.ordinal = mark.ordinal << 8 | byte(i);
  return mark;
}

}  // namespace sluice::kv
