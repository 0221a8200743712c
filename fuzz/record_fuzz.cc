// SPDX-License-Identifier: MIT
// Whatever the record reader accepts is canonical: writing its fields again gives the same bytes,
// also through a program that knows only some of them. The input is tried as it is, and once more
// with a checksum put behind it, so that the fuzzer gets past that.
#include <cstdint>

#include "base/check.h"
#include "codec/crc32c.h"
#include "codec/record.h"

namespace {

using namespace sluice::codec;

void write_known(RecordWriter& writer, const RecordReader& record) {
  for (const FieldView& field : record) {
    if (field.number > record.format().field_max) break;
    if (field.kind == FieldView::Kind::bytes) {
      SLUICE_CHECK(record.bytes(field.number).value().data() == field.bytes.data());
      writer.field(field.number, field.bytes);
    } else if (field.number % 2 == 0) {
      writer.field_signed(field.number, record.i64(field.number).value());
    } else {
      writer.field(field.number, record.u64(field.number).value());
    }
  }
}

/// Reads and rewrites `bytes` as a program that knows the fields up to `field_max`.
void rewrite(std::string_view bytes, unsigned field_max) {
  if (bytes.size() < kRecordBytesMin) return;
  const RecordFormat format{.type = static_cast<std::uint8_t>(bytes[1]),
                            .major = static_cast<std::uint8_t>(bytes[2]),
                            .minor = 0,
                            .field_max = static_cast<std::uint8_t>(field_max)};
  const auto record = RecordReader::open(bytes, format);
  if (!record) return;
  RecordWriter writer(format);
  write_known(writer, *record);
  SLUICE_CHECK(writer.keep_newer(*record).finish() == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  if (const auto parts = split_mark(input)) {
    SLUICE_CHECK(std::string(parts->record).append(parts->mark) == input);
    rewrite(parts->record, kFieldNumberMax);
  }
  rewrite(input, kFieldNumberMax);
  const std::uint32_t sum = crc32c(input);
  for (unsigned shift = 0; shift < 32; shift += 8) input.push_back(static_cast<char>(sum >> shift));
  for (const unsigned field_max : {0u, 2u, 60u, kFieldNumberMax}) rewrite(input, field_max);
  return 0;
}
