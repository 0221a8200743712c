// SPDX-License-Identifier: MIT
#include "codec/crc32c.h"
#include "codec/record.h"
#include "codec/record_wire.h"
#include "codec/tuple.h"

namespace sluice::codec {

using namespace record_wire;  // NOLINT(google-build-using-namespace): this file's own layout.

namespace {

std::uint32_t checksum_at_end(std::string_view bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kChecksumBytes; ++i)
    sum |= std::uint32_t{byte_at(bytes, bytes.size() - kChecksumBytes + i)} << (8 * i);
  return sum;
}

std::string name_of(const RecordFormat& format) {
  return "record of type " + std::to_string(format.type);
}

std::string version_text(unsigned major, unsigned minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

Failure other_major(const RecordFormat& format, unsigned major, unsigned minor) {
  return error(Code::invalid_argument,
               name_of(format) + " has version " + version_text(major, minor) +
                   ", this program reads version " + version_text(format.major, format.minor) +
                   (major > format.major ? ": use a newer program" : ": migrate the store first") +
                   "; the data is intact");
}

}  // namespace

FieldIterator::FieldIterator(std::string_view rest) : rest_(rest) {
  load();
}

FieldIterator& FieldIterator::operator++() {
  rest_.remove_prefix(field_bytes_);
  load();
  return *this;
}

void FieldIterator::load() {
  if (rest_.empty()) return;
  const ParsedField parsed = parse_field(rest_);
  field_ = parsed.field;
  field_bytes_ = parsed.size;
}

Result<RecordReader> RecordReader::open(std::string_view bytes, const RecordFormat& format) {
  const auto corrupt = [&](const std::string& problem) {
    return error(Code::corrupt, name_of(format) + ": " + problem);
  };
  if (bytes.size() < kRecordBytesMin)
    return corrupt("cut off after " + std::to_string(bytes.size()) + " bytes");
  if (bytes[0] != kMagic) return corrupt("these bytes are no record");
  const std::string_view covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (crc32c(covered) != checksum_at_end(bytes)) return corrupt("the checksum does not match");
  const std::uint8_t type = byte_at(bytes, kTypeAt);
  if (type != format.type) return corrupt("found one of type " + std::to_string(type));
  const std::uint8_t minor = byte_at(bytes, kMinorAt);
  if (const std::uint8_t major = byte_at(bytes, kMajorAt); major != format.major)
    return other_major(format, major, minor);
  RecordReader reader(covered.substr(kHeaderBytes), format, minor);
  SLUICE_TRY(reader.check_fields());
  return reader;
}

/// Proves that every field can be parsed and that the numbers increase; finds newer_fields().
Status RecordReader::check_fields() {
  unsigned number_last = 0;
  for (std::size_t at = 0; at < fields_.size();) {
    const std::string_view rest = fields_.substr(at);
    const ParsedField parsed = parse_field(rest);
    const char* problem = parsed.problem;
    if (!problem && parsed.field.number <= number_last) problem = "field numbers must rise from 1";
    if (problem)
      return error(Code::corrupt, name_of(format_) + ", field at byte " +
                                      std::to_string(kHeaderBytes + at) + ": " + problem);
    number_last = parsed.field.number;
    if (number_last > format_.field_max && newer_fields_.empty()) newer_fields_ = rest;
    at += parsed.size;
  }
  return {};
}

std::optional<FieldView> RecordReader::find(unsigned number) const {
  if (number < next_number_) next_at_ = 0;
  next_number_ = number;
  for (std::string_view rest = fields_.substr(next_at_); !rest.empty();) {
    const ParsedField parsed = parse_field(rest);
    if (parsed.field.number == number) return parsed.field;
    if (parsed.field.number > number) break;
    rest.remove_prefix(parsed.size);
    next_at_ += parsed.size;
  }
  return std::nullopt;
}

Status RecordReader::check_kind(const FieldView& field, FieldView::Kind kind) const {
  if (field.kind == kind) return {};
  return error(Code::corrupt, name_of(format_) + ": field " + std::to_string(field.number) +
                                  (kind == FieldView::Kind::bytes ? " should hold bytes"
                                                                  : " should hold a number"));
}

Failure RecordReader::missing(unsigned number) const {
  return error(Code::corrupt,
               name_of(format_) + ": field " + std::to_string(number) + " is missing");
}

Result<std::uint64_t> RecordReader::u64(unsigned number) const {
  const std::optional<FieldView> field = find(number);
  if (!field) return missing(number);
  SLUICE_TRY(check_kind(*field, FieldView::Kind::integer));
  return field->integer;
}

Result<std::int64_t> RecordReader::i64(unsigned number) const {
  SLUICE_LET(bits, u64(number));
  return unzigzag(bits);
}

Result<std::string_view> RecordReader::bytes(unsigned number) const {
  const std::optional<FieldView> field = find(number);
  if (!field) return missing(number);
  SLUICE_TRY(check_kind(*field, FieldView::Kind::bytes));
  return field->bytes;
}

Result<std::uint64_t> RecordReader::u64_or(unsigned number, std::uint64_t absent) const {
  return has(number) ? u64(number) : absent;
}

Result<std::int64_t> RecordReader::i64_or(unsigned number, std::int64_t absent) const {
  return has(number) ? i64(number) : absent;
}

Result<std::string_view> RecordReader::bytes_or(unsigned number, std::string_view absent) const {
  return has(number) ? bytes(number) : absent;
}

Result<MarkedView> split_mark(std::string_view stored) {
  if (stored.size() < kRecordBytesMin + kMarkBytes)
    return error(Code::corrupt,
                 "stamped value is cut off after " + std::to_string(stored.size()) + " bytes");
  const std::size_t record_bytes = stored.size() - kMarkBytes;
  return MarkedView{.record = stored.substr(0, record_bytes), .mark = stored.substr(record_bytes)};
}

}  // namespace sluice::codec
