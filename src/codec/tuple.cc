// SPDX-License-Identifier: MIT
#include "codec/tuple.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace sluice::codec {
namespace {

// The type codes. The numbers' codes run from kZeroCode - 8 to kZeroCode + 8: the distance is the
// number of bytes that follow.
constexpr char kEndCode = 0x00;
constexpr char kStringCode = 0x01;
constexpr char kNestedCode = 0x05;
constexpr char kZeroCode = 0x14;
constexpr char kMarkCode = 0x40;

// A zero byte within a string is followed by this, which is above every type code: so a string
// that goes on sorts after one that ends and is followed by any element.
constexpr char kEscapedZero = '\xff';

constexpr std::size_t kNumberBytesMax = 8;
constexpr std::size_t kBytesExpected = 64;
constexpr std::uint64_t kNegativeMagnitudeMax = std::uint64_t{1} << 63;

std::size_t bytes_needed(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value)) + 7) / 8;
}

/// The code and the `size` lowest bytes of `bits`, the highest first. Writes 9 bytes, of which
/// 1 + size count.
void put_number_at(char* at, char code, std::uint64_t bits, std::size_t size) {
  at[0] = code;
  if (size == 0) return;
  std::uint64_t bytes = bits << (8 * (kNumberBytesMax - size));
  if constexpr (std::endian::native == std::endian::little) bytes = __builtin_bswap64(bytes);
  std::memcpy(at + 1, &bytes, sizeof bytes);
}

/// The kind whose code is `code`; `end` if there is none.
TupleKind kind_of(char code) {
  if (code == kStringCode) return TupleKind::string;
  if (code == kNestedCode) return TupleKind::nested;
  if (code == kMarkCode) return TupleKind::mark;
  const int distance = code - kZeroCode;
  const int distance_max = kNumberBytesMax;
  if (-distance_max <= distance && distance <= distance_max) return TupleKind::number;
  return TupleKind::end;
}

}  // namespace

TupleWriter::TupleWriter(std::string_view prefix) {
  bytes_.reserve(prefix.size() + kBytesExpected);
  bytes_.append(prefix);
}

TupleWriter& TupleWriter::string(std::string_view bytes) {
  bytes_.push_back(kStringCode);
  for (std::size_t zero; (zero = bytes.find('\0')) != bytes.npos; bytes.remove_prefix(zero + 1)) {
    bytes_.append(bytes, 0, zero + 1);
    bytes_.push_back(kEscapedZero);
  }
  bytes_.append(bytes);
  bytes_.push_back(kEndCode);
  return *this;
}

TupleWriter& TupleWriter::put_number(char code, std::uint64_t bits, std::size_t size) {
  char buffer[1 + kNumberBytesMax];
  put_number_at(buffer, code, bits, size);
  bytes_.append(buffer, 1 + size);
  return *this;
}

TupleWriter& TupleWriter::put_positive(std::uint64_t value) {
  const std::size_t size = bytes_needed(value);
  return put_number(static_cast<char>(kZeroCode + static_cast<int>(size)), value, size);
}

// The complement makes the larger magnitude the smaller byte string.
TupleWriter& TupleWriter::put_negative(std::uint64_t magnitude) {
  const std::size_t size = bytes_needed(magnitude);
  return put_number(static_cast<char>(kZeroCode - static_cast<int>(size)), ~magnitude, size);
}

TupleWriter& TupleWriter::mark(std::string_view bytes) {
  SLUICE_CHECK(bytes.size() == kMarkBytes);
  bytes_.push_back(kMarkCode);
  bytes_.append(bytes);
  return *this;
}

TupleWriter& TupleWriter::stamp() {
  SLUICE_CHECK(stamp_at_ == kNoStamp);
  bytes_.push_back(kMarkCode);
  stamp_at_ = bytes_.size();
  return *this;
}

TupleWriter& TupleWriter::begin_nested() {
  SLUICE_CHECK(depth_ < kTupleDepthMax);
  ++depth_;
  bytes_.push_back(kNestedCode);
  return *this;
}

TupleWriter& TupleWriter::end_nested() {
  SLUICE_CHECK(depth_ > 0);
  --depth_;
  bytes_.push_back(kEndCode);
  return *this;
}

std::string TupleWriter::take() {
  SLUICE_CHECK(depth_ == 0);
  SLUICE_CHECK(stamp_at_ == kNoStamp);
  return std::exchange(bytes_, {});
}

StampedTuple TupleWriter::take_stamped() {
  SLUICE_CHECK(depth_ == 0);
  SLUICE_CHECK(stamp_at_ != kNoStamp);
  std::string suffix = bytes_.substr(stamp_at_);
  bytes_.resize(std::exchange(stamp_at_, kNoStamp));
  return {.prefix = std::exchange(bytes_, {}), .suffix = std::move(suffix)};
}

NumberTuple& NumberTuple::put(std::uint64_t value) {
  SLUICE_CHECK(size_ + 1 + kNumberBytesMax <= sizeof bytes_);
  const std::size_t size = bytes_needed(value);
  put_number_at(bytes_ + size_, static_cast<char>(kZeroCode + static_cast<int>(size)), value, size);
  size_ += 1 + size;
  return *this;
}

Failure TupleReader::fail(std::string_view problem) const {
  return error(Code::corrupt,
               std::string("key tuple, byte ").append(std::to_string(at_)).append(": ") += problem);
}

Result<TupleKind> TupleReader::peek() const {
  if (at_ == bytes_.size()) {
    if (depth_ > 0) return fail("the nested tuple is cut off");
    return TupleKind::end;
  }
  const char code = bytes_[at_];
  if (code == kEndCode && depth_ > 0) return TupleKind::end;
  const TupleKind kind = kind_of(code);
  if (kind == TupleKind::end) return fail("no element begins with this byte");
  return kind;
}

Status TupleReader::expect(TupleKind kind) const {
  SLUICE_LET(found, peek());
  if (found == kind) return {};
  switch (kind) {
    case TupleKind::end:
      return fail("the tuple should end here");
    case TupleKind::string:
      return fail("a string should be here");
    case TupleKind::nested:
      return fail("a nested tuple should be here");
    case TupleKind::number:
      return fail("a number should be here");
    case TupleKind::mark:
      break;
  }
  return fail("a mark should be here");
}

Result<std::string> TupleReader::string() {
  SLUICE_TRY(expect(TupleKind::string));
  std::string value;
  for (std::size_t from = at_ + 1;;) {
    const std::size_t zero = bytes_.find('\0', from);
    if (zero == bytes_.npos) return fail("the string is cut off");
    value.append(bytes_, from, zero - from);
    from = zero + 1;
    if (from == bytes_.size() || bytes_[from] != kEscapedZero) {
      at_ = from;
      return value;
    }
    value.push_back('\0');
    ++from;
  }
}

Result<TupleReader::Number> TupleReader::parse_number() const {
  SLUICE_TRY(expect(TupleKind::number));
  const int distance = bytes_[at_] - kZeroCode;
  const bool negative = distance < 0;
  const auto size = static_cast<std::size_t>(negative ? -distance : distance);
  if (bytes_.size() - at_ - 1 < size) return fail("the number is cut off");
  std::uint64_t magnitude = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes_[at_ + 1 + i]);
    magnitude = (magnitude << 8) | (negative ? byte ^ 0xffu : byte);
  }
  if (bytes_needed(magnitude) != size) return fail("the number is longer than it need be");
  if (negative && magnitude > kNegativeMagnitudeMax) return fail("the number is below 64 bits");
  return Number{.negative = negative, .magnitude = magnitude, .size = 1 + size};
}

Result<std::string_view> TupleReader::mark() {
  SLUICE_TRY(expect(TupleKind::mark));
  if (bytes_.size() - at_ - 1 < kMarkBytes) return fail("the mark is cut off");
  const std::string_view found = bytes_.substr(at_ + 1, kMarkBytes);
  at_ += 1 + kMarkBytes;
  return found;
}

Status TupleReader::begin_nested() {
  SLUICE_TRY(expect(TupleKind::nested));
  if (depth_ == kTupleDepthMax) return fail("the nesting is too deep");
  ++depth_;
  ++at_;
  return {};
}

Status TupleReader::end_nested() {
  SLUICE_CHECK(depth_ > 0);
  SLUICE_TRY(expect(TupleKind::end));
  --depth_;
  ++at_;
  return {};
}

Status TupleReader::finish() const {
  if (depth_ > 0) return fail("a nested tuple has not been read to its end");
  return expect(TupleKind::end);
}

// What follows the prefix in an extension is a type code, hence below kEscapedZero; what follows it
// in a tuple whose last string merely starts alike is kEscapedZero.
TupleRange extensions_of(std::string_view prefix) {
  TupleRange range{.begin = std::string(prefix), .end = std::string(prefix)};
  range.begin.push_back(kEndCode);
  range.end.push_back(kEscapedZero);
  return range;
}

}  // namespace sluice::codec
