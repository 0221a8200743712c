// SPDX-License-Identifier: MIT
#include "net/chunked.h"

#include <algorithm>
#include <charconv>

namespace sluice::net {
namespace {

// The size of a chunk with its extensions.
constexpr std::size_t kLineMax = 256;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

std::size_t ChunkedBody::take_line(std::string_view bytes, std::string_view& line) {
  const std::size_t end = bytes.find_first_of("\r\n");
  // A CR at the very end may yet be followed by its LF.
  if (end == std::string_view::npos || (bytes[end] == '\r' && end + 1 == bytes.size())) {
    if (bytes.size() > kLineMax) state_ = State::wrong;
    return 0;
  }
  if (!bytes.substr(end).starts_with("\r\n") || end > kLineMax) {
    state_ = State::wrong;
    return 0;
  }
  line = bytes.substr(0, end);
  return end + 2;
}

bool ChunkedBody::begin_chunk(std::string_view line, std::size_t body_bytes) {
  const auto digits =
      static_cast<std::size_t>(std::ranges::find_if_not(line, is_hex) - line.begin());
  const std::string_view extension = line.substr(digits);
  const bool plain =
      std::ranges::all_of(extension, [](char c) { return c == '\t' || (c >= ' ' && c != '\x7f'); });
  const std::size_t semicolon = extension.find_first_not_of(" \t");
  state_ = State::wrong;
  if (digits == 0 || !plain || (semicolon != extension.npos && extension[semicolon] != ';'))
    return false;
  std::uint64_t size = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + digits, size, 16);
  if (parsed.ec != std::errc() || size > bytes_max_ - body_bytes) {
    state_ = State::too_big;
    return false;
  }
  state_ = State::more;
  left_ = static_cast<std::size_t>(size);
  part_ = size == 0 ? Part::end : Part::data;
  return true;
}

std::size_t ChunkedBody::take(std::string_view bytes, std::string& body) {
  std::size_t taken = 0;
  while (state_ == State::more) {
    const std::string_view rest = bytes.substr(taken);
    if (part_ == Part::data) {
      const std::size_t count = std::min(left_, rest.size());
      body.append(rest.substr(0, count));
      taken += count;
      left_ -= count;
      if (left_ > 0) return taken;
      part_ = Part::after_data;
      continue;
    }
    if (part_ != Part::size && !rest.empty() && rest[0] != '\r') {
      state_ = State::wrong;
      return taken;
    }
    std::string_view line;
    const std::size_t count = take_line(rest, line);
    if (count == 0) return taken;
    taken += count;
    if (part_ == Part::size) {
      begin_chunk(line, body.size());
    } else if (part_ == Part::end) {
      state_ = State::done;
    } else {
      part_ = Part::size;
    }
  }
  return taken;
}

}  // namespace sluice::net
