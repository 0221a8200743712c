// SPDX-License-Identifier: MIT
// How the parts of a record are laid out, for the record's writer and reader and nobody else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codec/record.h"

namespace sluice::codec::record_wire {

// The header is magic, type, major, minor. It and the checksum at the end stay as they are in every
// major version: that is how a reader knows a newer record from a damaged one.
inline constexpr char kMagic = '\xb5';
inline constexpr std::size_t kTypeAt = 1;
inline constexpr std::size_t kMajorAt = 2;
inline constexpr std::size_t kMinorAt = 3;
inline constexpr std::size_t kHeaderBytes = 4;
inline constexpr std::size_t kChecksumBytes = 4;
static_assert(kHeaderBytes + kChecksumBytes == kRecordBytesMin);

inline constexpr std::size_t kVarintBytesMax = 10;
/// The lowest bit of a tag says whether bytes follow; the field's number is above it.
inline constexpr unsigned kBytesBit = 1;
static_assert((kFieldNumberMax << 1 | kBytesBit) <= 0xff, "a tag is one byte");

inline std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

/// A tag and a varint, built aside so that each field costs one or two appends.
class FieldHead {
 public:
  FieldHead(unsigned tag, std::uint64_t value) {
    buffer_[0] = static_cast<char>(tag);
    for (; value >= 0x80; value >>= 7) buffer_[size_++] = static_cast<char>(value | 0x80);
    buffer_[size_++] = static_cast<char>(value);
  }
  std::string_view view() const { return {buffer_, size_}; }

 private:
  char buffer_[1 + kVarintBytesMax];
  std::size_t size_ = 1;
};

struct Varint {
  std::uint64_t value = 0;
  std::size_t size = 0;  // 0 if there is none.
};

/// Only the shortest form of a number counts.
inline Varint parse_varint(std::string_view bytes) {
  if (!bytes.empty() && byte_at(bytes, 0) < 0x80) return {.value = byte_at(bytes, 0), .size = 1};
  std::uint64_t value = 0;
  const std::size_t size_max = std::min(bytes.size(), kVarintBytesMax);
  for (std::size_t i = 0; i < size_max; ++i) {
    const std::uint64_t byte = byte_at(bytes, i);
    value |= (byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    const bool padded = byte == 0 && i > 0;
    const bool overflows = i == kVarintBytesMax - 1 && byte > 1;
    return padded || overflows ? Varint{} : Varint{.value = value, .size = i + 1};
  }
  return {};
}

struct ParsedField {
  FieldView field = {};
  std::size_t size = 0;
  const char* problem = nullptr;
};

/// The field at the beginning of `rest`, which must not be empty; or what is wrong with it. Whether
/// its number may stand here is for the caller to say. Inline, because a look-up needs little of
/// what it returns for the fields that it passes over.
inline ParsedField parse_field(std::string_view rest) {
  ParsedField parsed;
  const unsigned tag = byte_at(rest, 0);
  parsed.field.number = tag >> 1;
  const Varint head = parse_varint(rest.substr(1));
  if (head.size == 0) return {.problem = "its value or length is malformed"};
  parsed.size = 1 + head.size;
  if ((tag & kBytesBit) == 0) {
    parsed.field.integer = head.value;
    return parsed;
  }
  if (head.value > rest.size() - parsed.size) return {.problem = "its bytes are cut off"};
  const auto length = static_cast<std::size_t>(head.value);
  parsed.field.kind = FieldView::Kind::bytes;
  parsed.field.bytes = rest.substr(parsed.size, length);
  parsed.size += length;
  return parsed;
}

/// Small magnitudes make small numbers: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4.
inline std::uint64_t zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value) << 1;
  return value < 0 ? ~bits : bits;
}

inline std::int64_t unzigzag(std::uint64_t bits) {
  const std::uint64_t half = bits >> 1;
  return static_cast<std::int64_t>(bits & 1 ? ~half : half);
}

}  // namespace sluice::codec::record_wire
