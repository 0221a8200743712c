// SPDX-License-Identifier: MIT
#include "codec/record.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "codec/crc32c.h"
#include "codec/tuple.h"

namespace sluice::codec {
namespace {

using std::string_literals::operator""s;

constexpr RecordFormat kFormat{.type = 7, .major = 2, .minor = 3, .field_max = 5};

template <class T>
Code code_of(const Result<T>& result) {
  return result ? Code::ok : result.error().code();
}

std::string sample() {
  return RecordWriter(kFormat)
      .field(1, std::uint64_t{300})
      .field(2, "payload\0with zero"s)
      .field_signed(4, -5)
      .finish();
}

/// Puts behind `body` the checksum that matches it.
std::string sealed(std::string body) {
  const std::uint32_t sum = crc32c(body);
  for (int shift = 0; shift < 32; shift += 8) body.push_back(static_cast<char>(sum >> shift));
  return body;
}

std::string with_fields(const std::string& fields) {
  return sealed("\xb5\x07\x02\x03" + fields);
}

/// Records of several shapes, to be damaged.
std::vector<std::string> samples() {
  return {
      sample(),
      RecordWriter(kFormat).finish(),
      RecordWriter(kFormat).field(1, std::uint64_t{0}).finish(),
      RecordWriter(kFormat).field(3, std::string(200, 'x')).field(5, ~std::uint64_t{0}).finish(),
      RecordWriter(kFormat).field(2, std::string(64, '\0')).finish(),
  };
}

TEST(Record, every_kind_of_field_comes_back) {
  const std::string bytes = sample();
  const auto record = RecordReader::open(bytes, kFormat).value();
  EXPECT_EQ(record.u64(1).value(), 300u);
  EXPECT_EQ(record.bytes(2).value(), "payload\0with zero"s);
  EXPECT_EQ(record.i64(4).value(), -5);
  EXPECT_EQ(record.minor(), 3);
  EXPECT_TRUE(record.has(4));
  EXPECT_FALSE(record.has(3));
  EXPECT_FALSE(record.has(5));
}

TEST(Record, bytes_are_shown_in_place) {
  const std::string bytes = sample();
  const auto record = RecordReader::open(bytes, kFormat).value();
  const char* at = record.bytes(2).value().data();
  EXPECT_TRUE(bytes.data() < at && at < bytes.data() + bytes.size());
}

TEST(Record, fields_are_found_in_any_order_and_again) {
  const std::string bytes = sample();
  const auto record = RecordReader::open(bytes, kFormat).value();
  for (const unsigned first : {1u, 2u, 3u, 4u, 5u})
    for (const unsigned second : {1u, 2u, 3u, 4u, 5u, first}) {
      EXPECT_EQ(record.has(first), first != 3 && first != 5);
      EXPECT_EQ(record.has(second), second != 3 && second != 5) << first << " then " << second;
    }
  EXPECT_EQ(record.i64(4).value(), -5);
  EXPECT_EQ(record.u64(1).value(), 300u);
}

TEST(Record, numbers_come_back_at_the_ends_of_their_ranges) {
  const std::vector<std::uint64_t> unsigneds = {
      0, 127, 128, 16383, 16384, ~std::uint64_t{0} >> 1, ~std::uint64_t{0}};
  for (const std::uint64_t value : unsigneds) {
    const std::string bytes = RecordWriter(kFormat).field(1, value).finish();
    EXPECT_EQ(RecordReader::open(bytes, kFormat).value().u64(1).value(), value);
  }
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
        std::int64_t{1}, std::numeric_limits<std::int64_t>::max()}) {
    const std::string bytes = RecordWriter(kFormat).field_signed(1, value).finish();
    EXPECT_EQ(RecordReader::open(bytes, kFormat).value().i64(1).value(), value);
  }
}

TEST(Record, an_absent_field_is_corrupt_unless_it_has_a_default) {
  const std::string bytes = sample();
  const auto record = RecordReader::open(bytes, kFormat).value();
  EXPECT_EQ(record.u64(3).error().to_string(), "corrupt: record of type 7: field 3 is missing");
  EXPECT_EQ(code_of(record.i64(3)), Code::corrupt);
  EXPECT_EQ(code_of(record.bytes(3)), Code::corrupt);
  EXPECT_EQ(record.u64_or(3, 9).value(), 9u);
  EXPECT_EQ(record.i64_or(3, -9).value(), -9);
  EXPECT_EQ(record.bytes_or(3, "none").value(), "none");
  EXPECT_EQ(record.u64_or(1, 9).value(), 300u);
  EXPECT_EQ(record.i64_or(4, 9).value(), -5);
  EXPECT_EQ(record.bytes_or(2, "none").value().size(), 17u);
}

TEST(Record, a_field_of_the_other_kind_is_corrupt_even_if_it_has_a_default) {
  const std::string bytes = sample();
  const auto record = RecordReader::open(bytes, kFormat).value();
  EXPECT_EQ(code_of(record.bytes(1)), Code::corrupt);
  EXPECT_EQ(code_of(record.bytes_or(1, "")), Code::corrupt);
  EXPECT_EQ(code_of(record.u64(2)), Code::corrupt);
  EXPECT_EQ(code_of(record.u64_or(2, 0)), Code::corrupt);
  EXPECT_EQ(code_of(record.i64_or(2, 0)), Code::corrupt);
}

TEST(Record, every_flipped_bit_is_detected) {
  for (const std::string& good : samples()) {
    ASSERT_TRUE(RecordReader::open(good, kFormat));
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      ASSERT_EQ(code_of(RecordReader::open(bad, kFormat)), Code::corrupt) << "bit " << bit;
    }
  }
}

TEST(Record, every_cut_and_every_appended_byte_is_detected) {
  for (const std::string& good : samples()) {
    for (std::size_t size = 0; size < good.size(); ++size)
      ASSERT_EQ(code_of(RecordReader::open(good.substr(0, size), kFormat)), Code::corrupt) << size;
    for (int byte = 0; byte < 256; ++byte)
      ASSERT_EQ(code_of(RecordReader::open(good + static_cast<char>(byte), kFormat)),
                Code::corrupt);
  }
}

TEST(Record, malformed_fields_are_refused_although_the_checksum_matches) {
  const std::string max = "\xff\xff\xff\xff\xff\xff\xff\xff\xff";
  ASSERT_TRUE(RecordReader::open(with_fields("\x02" + max + "\x01"), kFormat));
  ASSERT_TRUE(RecordReader::open(with_fields("\x03\0\x04\0"s), kFormat));
  struct Bad {
    std::string fields;
    std::string problem;
  };
  const std::string rise = "byte 4: field numbers must rise from 1";
  const std::string again = "byte 6: field numbers must rise from 1";
  const std::string value = "byte 4: its value or length is malformed";
  const std::string bytes = "byte 4: its bytes are cut off";
  const std::vector<Bad> table = {
      {"\0\0"s, rise},                    // field 0
      {"\x01\0"s, rise},                  // the same, with bytes
      {"\x02\x01\x02\x01"s, again},       // field 1 twice
      {"\x04\x01\x02\x01"s, again},       // field 2, then field 1
      {"\x02"s, value},                   // no value
      {"\x02\x80"s, value},               // cut off
      {"\x02\x80\0"s, value},             // 0 in two bytes
      {"\x02" + max + "\x02", value},     // 65 bits
      {"\x02" + max + "\x81\0"s, value},  // 11 bytes
      {"\x03\x02x"s, bytes},              // one of two bytes
      {"\x03" + max + "\x01xyz", bytes},  // a length that overflows what is added to it
  };
  for (const Bad& bad : table) {
    const auto record = RecordReader::open(with_fields(bad.fields), kFormat);
    ASSERT_FALSE(record) << testing::PrintToString(bad.fields);
    EXPECT_EQ(record.error().to_string(), "corrupt: record of type 7, field at " + bad.problem);
  }
}

TEST(Record, a_matching_checksum_does_not_make_a_record) {
  ASSERT_TRUE(RecordReader::open(sealed("\xb5\x07\x02\x03"), kFormat));
  EXPECT_EQ(code_of(RecordReader::open(sealed("\xb4\x07\x02\x03"), kFormat)), Code::corrupt);
  EXPECT_EQ(code_of(RecordReader::open(sealed("\xb5\x07\x02"), kFormat)), Code::corrupt);
  EXPECT_EQ(code_of(RecordReader::open(sealed(""), kFormat)), Code::corrupt);
}

TEST(Record, another_type_is_corrupt) {
  RecordFormat other = kFormat;
  other.type = 8;
  EXPECT_EQ(RecordReader::open(sample(), other).error().to_string(),
            "corrupt: record of type 8: found one of type 7");
}

TEST(Record, another_major_version_is_refused_by_name_but_is_not_corrupt) {
  RecordFormat older = kFormat;
  older.major = 1;
  EXPECT_EQ(RecordReader::open(sample(), older).error().to_string(),
            "invalid_argument: record of type 7 has version 2.3, this program reads version 1.3: "
            "use a newer program; the data is intact");
  RecordFormat newer = kFormat;
  newer.major = 3;
  EXPECT_EQ(RecordReader::open(sample(), newer).error().to_string(),
            "invalid_argument: record of type 7 has version 2.3, this program reads version 3.3: "
            "migrate the store first; the data is intact");
}

constexpr RecordFormat kNewFormat{.type = 7, .major = 2, .minor = 9, .field_max = 8};

std::string by_a_newer_program() {
  return RecordWriter(kNewFormat)
      .field(1, 300u)
      .field(2, "old")
      .field(6, 66u)
      .field(8, "newest")
      .finish();
}

TEST(Record, fields_of_a_newer_minor_version_are_passed_over) {
  const std::string bytes = by_a_newer_program();
  const auto record = RecordReader::open(bytes, kFormat).value();
  EXPECT_EQ(record.u64(1).value(), 300u);
  EXPECT_EQ(record.bytes(2).value(), "old");
  EXPECT_EQ(record.minor(), 9);
  EXPECT_EQ(record.newer_fields(), "\x0c\x42\x11\x06newest");
}

TEST(Record, an_old_program_that_rewrites_a_record_keeps_the_newer_fields) {
  const std::string bytes = by_a_newer_program();
  const auto old = RecordReader::open(bytes, kFormat).value();
  const std::string rewritten =
      RecordWriter(kFormat).field(1, 301u).field(2, "new").keep_newer(old).finish();
  const auto record = RecordReader::open(rewritten, kNewFormat).value();
  EXPECT_EQ(record.minor(), 9);
  EXPECT_EQ(record.u64(1).value(), 301u);
  EXPECT_EQ(record.bytes(2).value(), "new");
  EXPECT_EQ(record.u64(6).value(), 66u);
  EXPECT_EQ(record.bytes(8).value(), "newest");
}

TEST(Record, a_new_program_that_rewrites_an_old_record_raises_its_minor_version) {
  const std::string bytes = sample();
  const auto old = RecordReader::open(bytes, kNewFormat).value();
  const std::string rewritten = RecordWriter(kNewFormat).keep_newer(old).finish();
  EXPECT_EQ(RecordReader::open(rewritten, kNewFormat).value().minor(), 9);
}

TEST(Record, iteration_shows_every_field_in_order) {
  const std::string bytes = by_a_newer_program();
  const auto record = RecordReader::open(bytes, kFormat).value();
  std::vector<unsigned> numbers;
  for (const FieldView& field : record) numbers.push_back(field.number);
  EXPECT_EQ(numbers, (std::vector<unsigned>{1, 2, 6, 8}));
  EXPECT_EQ(record.begin()->integer, 300u);
  EXPECT_EQ((++record.begin())->bytes, "old");
}

TEST(Record, the_highest_field_number_can_be_used) {
  constexpr RecordFormat kWidest{.type = 1, .field_max = kFieldNumberMax};
  const std::string bytes = RecordWriter(kWidest).field(kFieldNumberMax, "x").finish();
  EXPECT_EQ(RecordReader::open(bytes, kWidest).value().bytes(kFieldNumberMax).value(), "x");
}

TEST(RecordDeath, misuse_of_the_writer_stops_the_process) {
  EXPECT_DEATH(RecordWriter(kFormat).field(0, 1u), "check failed");
  EXPECT_DEATH(RecordWriter(kFormat).field(6, 1u), "check failed") << "one past field_max";
  EXPECT_DEATH(RecordWriter(kFormat).field(2, 1u).field(2, 1u), "check failed");
  EXPECT_DEATH(RecordWriter(kFormat).field(2, 1u).field(1, 1u), "check failed");
  constexpr RecordFormat kTooWide{.type = 1, .field_max = kFieldNumberMax + 1};
  EXPECT_DEATH(RecordWriter{kTooWide}, "check failed");
  const auto finished = [] {
    RecordWriter writer(kFormat);
    static_cast<void>(writer.finish());
    return writer;
  };
  EXPECT_DEATH(finished().field(1, 1u), "check failed");
  EXPECT_DEATH(finished().finish(), "check failed");
}

TEST(RecordDeath, newer_fields_of_another_format_are_not_kept) {
  const std::string bytes = sample();
  const auto old = RecordReader::open(bytes, kNewFormat).value();
  EXPECT_DEATH(RecordWriter(kFormat).keep_newer(old), "check failed");
}

TEST(StampedValue, the_mark_is_the_last_part_and_outside_the_checksum) {
  for (const char fill : {'\0', 'm', '\xff'}) {
    const std::string stored = sample() + std::string(kMarkBytes, fill);
    const MarkedView view = split_mark(stored).value();
    EXPECT_EQ(view.mark, std::string(kMarkBytes, fill));
    EXPECT_EQ(view.record, sample());
    EXPECT_TRUE(RecordReader::open(view.record, kFormat));
  }
}

TEST(StampedValue, a_value_too_short_for_a_record_and_a_mark_is_corrupt) {
  const std::string shortest = RecordWriter(kFormat).finish() + std::string(kMarkBytes, 'm');
  ASSERT_EQ(shortest.size(), kRecordBytesMin + kMarkBytes);
  EXPECT_TRUE(split_mark(shortest));
  EXPECT_EQ(code_of(split_mark(shortest.substr(1))), Code::corrupt);
  EXPECT_EQ(code_of(split_mark("")), Code::corrupt);
}

}  // namespace
}  // namespace sluice::codec
