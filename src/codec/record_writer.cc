// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "codec/crc32c.h"
#include "codec/record.h"
#include "codec/record_wire.h"

namespace sluice::codec {

using namespace record_wire;  // NOLINT(google-build-using-namespace): this file's own layout.

namespace {

void append_checksum(std::string& bytes) {
  const std::uint32_t sum = crc32c(bytes);
  char buffer[kChecksumBytes];
  for (std::size_t i = 0; i < kChecksumBytes; ++i) buffer[i] = static_cast<char>(sum >> (8 * i));
  bytes.append(buffer, kChecksumBytes);
}

}  // namespace

RecordWriter::RecordWriter(const RecordFormat& format, std::size_t bytes_expected)
    : format_(format) {
  SLUICE_CHECK(format.field_max <= kFieldNumberMax);
  bytes_.reserve(bytes_expected);
  const char header[kHeaderBytes] = {kMagic, static_cast<char>(format.type),
                                     static_cast<char>(format.major),
                                     static_cast<char>(format.minor)};
  bytes_.append(header, kHeaderBytes);
}

void RecordWriter::begin_field(unsigned number) {
  SLUICE_CHECK(number > number_last_);
  SLUICE_CHECK(number <= format_.field_max);
  number_last_ = number;
}

RecordWriter& RecordWriter::put_u64(unsigned number, std::uint64_t value) {
  begin_field(number);
  bytes_.append(FieldHead(number << 1, value).view());
  return *this;
}

RecordWriter& RecordWriter::field(unsigned number, std::string_view bytes) {
  begin_field(number);
  bytes_.append(FieldHead(number << 1 | kBytesBit, bytes.size()).view());
  bytes_.append(bytes);
  return *this;
}

RecordWriter& RecordWriter::field_signed(unsigned number, std::int64_t value) {
  return put_u64(number, zigzag(value));
}

RecordWriter& RecordWriter::keep_newer(const RecordReader& old) {
  SLUICE_CHECK(old.format().type == format_.type);
  SLUICE_CHECK(old.format().major == format_.major);
  SLUICE_CHECK(old.format().field_max == format_.field_max);
  SLUICE_CHECK(number_last_ <= format_.field_max);
  bytes_.append(old.newer_fields());
  bytes_[kMinorAt] = static_cast<char>(std::max(format_.minor, old.minor()));
  number_last_ = kFieldNumberMax + 1;
  return *this;
}

std::string RecordWriter::finish() {
  SLUICE_CHECK(!bytes_.empty());
  append_checksum(bytes_);
  number_last_ = kFieldNumberMax + 1;
  return std::exchange(bytes_, {});
}

}  // namespace sluice::codec
