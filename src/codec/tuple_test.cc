// SPDX-License-Identifier: MIT
#include "codec/tuple.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace sluice::codec {
namespace {

using std::string_literals::operator""s;

constexpr auto kInt64Min = std::numeric_limits<std::int64_t>::min();
constexpr auto kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr auto kUint64Max = std::numeric_limits<std::uint64_t>::max();

template <class T>
std::string encoded(T number) {
  return TupleWriter().number(number).take();
}

template <class T>
Code code_of(const Result<T>& result) {
  return result ? Code::ok : result.error().code();
}

std::string nested_to_depth(std::size_t depth) {
  return std::string(depth, '\x05') + std::string(depth, '\0');
}

Status read_nested_to_depth(std::string_view bytes, std::size_t depth) {
  TupleReader reader(bytes);
  for (std::size_t i = 0; i < depth; ++i) SLUICE_TRY(reader.begin_nested());
  for (std::size_t i = 0; i < depth; ++i) SLUICE_TRY(reader.end_nested());
  return reader.finish();
}

TEST(Tuple, every_kind_of_element_comes_back) {
  const std::string mark = "0123456789abcdef";
  const std::string key = TupleWriter()
                              .string("a\0b"s)
                              .number(-7)
                              .begin_nested()
                              .string("")
                              .number(kUint64Max)
                              .end_nested()
                              .mark(mark)
                              .take();
  TupleReader reader(key);
  EXPECT_EQ(reader.string().value(), "a\0b"s);
  EXPECT_EQ(reader.number<int>().value(), -7);
  EXPECT_TRUE(reader.begin_nested().ok());
  EXPECT_EQ(reader.string().value(), "");
  EXPECT_EQ(reader.number<std::uint64_t>().value(), kUint64Max);
  EXPECT_EQ(reader.peek().value(), TupleKind::end);
  EXPECT_TRUE(reader.end_nested().ok());
  EXPECT_EQ(reader.mark().value(), mark);
  EXPECT_EQ(reader.peek().value(), TupleKind::end);
  EXPECT_TRUE(reader.finish().ok());
}

TEST(Tuple, equal_numbers_of_different_types_encode_equally) {
  EXPECT_EQ(encoded(std::int8_t{5}), encoded(std::uint64_t{5}));
  EXPECT_EQ(encoded(0), encoded(0u));
  EXPECT_EQ(encoded(kInt64Max), encoded(static_cast<std::uint64_t>(kInt64Max)));
  EXPECT_EQ(encoded(std::int8_t{-128}), encoded(std::int64_t{-128}));
}

/// Every 256^k - 1, 256^k, 256^k + 1 and their negatives, and the ends of both ranges, rising.
std::vector<std::string> rising_numbers() {
  std::vector<std::string> keys = {encoded(kInt64Min), encoded(kInt64Min + 1)};
  for (int k = 7; k >= 1; --k)
    for (int step = 1; step >= -1; --step) keys.push_back(encoded(-((1LL << (8 * k)) + step)));
  for (int n = -2; n <= 2; ++n) keys.push_back(encoded(n));
  for (int k = 1; k <= 7; ++k)
    for (int step = -1; step <= 1; ++step) keys.push_back(encoded((1ULL << (8 * k)) + step));
  for (std::uint64_t n :
       {std::uint64_t(kInt64Max), std::uint64_t(kInt64Max) + 1, kUint64Max - 1, kUint64Max})
    keys.push_back(encoded(n));
  return keys;
}

TEST(Tuple, numbers_sort_across_the_signed_and_the_unsigned_range) {
  const std::vector<std::string> keys = rising_numbers();
  for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_LT(keys[i - 1], keys[i]) << i;
}

TEST(Tuple, a_number_outside_the_type_asked_for_is_refused_and_can_be_read_as_a_wider_one) {
  const std::string key = TupleWriter().number(-129).number(256).number(kUint64Max).take();
  TupleReader reader(key);
  EXPECT_EQ(code_of(reader.number<std::int8_t>()), Code::corrupt);
  EXPECT_EQ(code_of(reader.number<std::uint64_t>()), Code::corrupt);
  EXPECT_EQ(reader.number<std::int16_t>().value(), -129);
  EXPECT_EQ(code_of(reader.number<std::uint8_t>()), Code::corrupt);
  EXPECT_EQ(reader.number<std::uint16_t>().value(), 256);
  EXPECT_EQ(code_of(reader.number<std::int64_t>()), Code::corrupt);
  EXPECT_EQ(reader.number<std::uint64_t>().value(), kUint64Max);
}

TEST(Tuple, strings_with_zeros_keep_their_place_whatever_follows_them) {
  const std::vector<std::string> rising = {"",      "\0"s,  "\0\0"s,  "\0\x01"s,  "\0\xff"s, "\x01",
                                           "a",     "a\0"s, "a\0\0"s, "a\0\xff"s, "a\x01",   "aa",
                                           "a\xff", "b",    "\xff",   "\xff\0"s,  "\xff\xff"};
  std::string before;
  for (const std::string& text : rising) {
    const std::string alone = TupleWriter().string(text).take();
    EXPECT_LT(before, alone) << testing::PrintToString(text);
    EXPECT_EQ(TupleReader(alone).string().value(), text);
    before = TupleWriter().string(text).mark(std::string(kMarkBytes, '\xff')).take();
  }
}

TEST(Tuple, kinds_sort_in_their_stated_order) {
  const std::string string = TupleWriter().string("\xff\xff").take();
  const std::string nested =
      TupleWriter().begin_nested().mark(std::string(16, '\xff')).end_nested().take();
  const std::string number = encoded(kInt64Min);
  const std::string mark = TupleWriter().mark(std::string(16, '\0')).take();
  EXPECT_LT(string, TupleWriter().begin_nested().end_nested().take());
  EXPECT_LT(nested, number);
  EXPECT_LT(encoded(kUint64Max), mark);
  EXPECT_LT(mark, "\xff") << "keys with this first byte belong to the engine";
}

TEST(Tuple, nesting_is_read_to_its_limit_and_refused_one_past_it) {
  EXPECT_TRUE(read_nested_to_depth(nested_to_depth(kTupleDepthMax), kTupleDepthMax).ok());
  EXPECT_EQ(read_nested_to_depth(nested_to_depth(kTupleDepthMax + 1), kTupleDepthMax + 1).code(),
            Code::corrupt);
}

TEST(Tuple, nesting_is_written_to_its_limit) {
  TupleWriter writer;
  for (std::size_t i = 0; i < kTupleDepthMax; ++i) writer.begin_nested();
  for (std::size_t i = 0; i < kTupleDepthMax; ++i) writer.end_nested();
  EXPECT_EQ(writer.take(), nested_to_depth(kTupleDepthMax));
}

TEST(TupleDeath, misuse_of_the_writer_stops_the_process) {
  const auto too_deep = [] {
    TupleWriter writer;
    for (std::size_t i = 0; i <= kTupleDepthMax; ++i) writer.begin_nested();
  };
  EXPECT_DEATH(too_deep(), "check failed");
  EXPECT_DEATH(TupleWriter().begin_nested().take(), "check failed");
  EXPECT_DEATH(TupleWriter().end_nested(), "check failed");
  EXPECT_DEATH(TupleWriter().mark(std::string(kMarkBytes - 1, 'x')), "check failed");
  EXPECT_DEATH(TupleWriter().mark(std::string(kMarkBytes + 1, 'x')), "check failed");
  EXPECT_DEATH(TupleWriter().stamp().stamp(), "check failed");
  EXPECT_DEATH(TupleWriter().stamp().take(), "check failed");
  EXPECT_DEATH(static_cast<void>(TupleWriter().take_stamped()), "check failed");
}

TEST(Tuple, every_other_form_of_a_number_is_refused) {
  const std::vector<std::string> bad = {
      "\x15\0"s,                                // 0 in one byte
      "\x16\0\x05"s,                            // 5 in two
      "\x1c\0\xff\xff\xff\xff\xff\xff\xff"s,    // 7 bytes' worth in eight
      "\x13\xff"s,                              // -0
      "\x12\xff\xfe"s,                          // -1 in two
      "\x0c\xff\0\0\0\0\0\0\0"s,                // 7 bytes' worth in eight, negative
      "\x0c\x7f\xff\xff\xff\xff\xff\xff\xfe"s,  // one below the lowest
      "\x0c\0\0\0\0\0\0\0\0"s,
  };
  for (const std::string& bytes : bad)
    EXPECT_EQ(code_of(TupleReader(bytes).number<std::int64_t>()), Code::corrupt) << bytes;
  const std::string lowest = "\x0c\x7f\xff\xff\xff\xff\xff\xff\xff"s;
  EXPECT_EQ(TupleReader(lowest).number<std::int64_t>().value(), kInt64Min);
}

TEST(Tuple, elements_that_are_cut_off_are_refused) {
  const std::string mark = TupleWriter().mark(std::string(kMarkBytes, 'm')).take();
  EXPECT_TRUE(TupleReader(mark).mark());
  EXPECT_EQ(code_of(TupleReader(std::string_view(mark).substr(0, kMarkBytes)).mark()),
            Code::corrupt);
  EXPECT_EQ(code_of(TupleReader("\x16\x01").number<int>()), Code::corrupt);
  EXPECT_EQ(code_of(TupleReader("\x12\x01").number<int>()), Code::corrupt);
  EXPECT_EQ(code_of(TupleReader("\x01xyz").string()), Code::corrupt);
  EXPECT_EQ(code_of(TupleReader("\x01x\0\xff"s).string()), Code::corrupt);
}

TEST(Tuple, bytes_that_are_no_type_code_are_refused) {
  int codes = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string input(1, static_cast<char>(byte));
    if (TupleReader(input).peek()) ++codes;
  }
  EXPECT_EQ(codes, 3 + 17) << "string, nested, mark, and the numbers of 0 to 8 bytes";
}

TEST(Tuple, the_wrong_kind_is_refused_and_the_right_one_can_still_be_read) {
  const std::string key = TupleWriter().number(1).take();
  TupleReader reader(key);
  EXPECT_EQ(code_of(reader.string()), Code::corrupt);
  EXPECT_EQ(code_of(reader.mark()), Code::corrupt);
  EXPECT_EQ(reader.begin_nested().code(), Code::corrupt);
  EXPECT_EQ(reader.finish().to_string(), "corrupt: key tuple, byte 0: the tuple should end here");
  EXPECT_EQ(reader.number<int>().value(), 1);
  EXPECT_TRUE(reader.finish().ok());
  EXPECT_EQ(code_of(reader.number<int>()), Code::corrupt);
}

TEST(Tuple, a_nested_tuple_that_is_left_half_read_is_not_finished) {
  const std::string key = TupleWriter().begin_nested().number(1).end_nested().take();
  TupleReader reader(key);
  ASSERT_TRUE(reader.begin_nested().ok());
  EXPECT_EQ(reader.end_nested().code(), Code::corrupt);
  ASSERT_TRUE(reader.number<int>());
  EXPECT_EQ(reader.finish().code(), Code::corrupt);
  ASSERT_TRUE(reader.end_nested().ok());
  EXPECT_TRUE(reader.finish().ok());
}

TEST(Tuple, a_stamped_key_reads_like_any_other_once_the_mark_is_in_its_gap) {
  const std::string mark =
      "\0\x01"
      "ABCDEFGHIJ\0\0\0\x07"s;
  const StampedTuple parts =
      TupleWriter().string("jobs").begin_nested().stamp().end_nested().number(3).take_stamped();
  const std::string key = parts.prefix + mark + parts.suffix;
  EXPECT_EQ(key,
            TupleWriter().string("jobs").begin_nested().mark(mark).end_nested().number(3).take());
}

TEST(Tuple, a_writer_is_as_good_as_new_after_take) {
  TupleWriter writer;
  writer.string("a").stamp();
  static_cast<void>(writer.take_stamped());
  EXPECT_EQ(writer.string("b").take(), TupleWriter().string("b").take());
  EXPECT_EQ(writer.take(), "");
}

TEST(NumberTuple, is_what_a_writer_makes_of_the_same_numbers) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (int bits = 0; bits < 64; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    for (const std::uint64_t number : {power - 1, power, power + 1, most - power}) {
      NumberTuple tuple;
      tuple.number(std::uint8_t{7}).number(number).number(std::uint32_t{0});
      const std::string written = TupleWriter().number(7).number(number).number(0).take();
      EXPECT_EQ(std::string_view(tuple), written) << number;
      EXPECT_EQ(tuple.to_string(), written);
    }
  }
}

TEST(NumberTuple, has_room_for_its_limit_and_no_more) {
  NumberTuple tuple;
  TupleWriter writer;
  for (std::size_t i = 0; i < NumberTuple::kNumbersMax; ++i) {
    tuple.number(std::numeric_limits<std::uint64_t>::max());
    writer.number(std::numeric_limits<std::uint64_t>::max());
  }
  EXPECT_EQ(std::string_view(tuple), writer.take());
  EXPECT_DEATH(tuple.number(0u), "check failed");
}

TEST(Tuple, a_writer_goes_on_after_a_prefix) {
  const std::string prefix = TupleWriter().string("jobs").take();
  EXPECT_EQ(TupleWriter(prefix).number(3).take(), TupleWriter().string("jobs").number(3).take());
}

TEST(Tuple, the_extensions_of_a_prefix_are_a_range_without_the_prefix_and_its_lookalikes) {
  const std::string prefix = TupleWriter().string("a").take();
  const TupleRange range = extensions_of(prefix);
  const auto holds = [&](const std::string& key) { return range.begin <= key && key < range.end; };
  EXPECT_TRUE(holds(TupleWriter(prefix).string("").take()));
  EXPECT_TRUE(holds(TupleWriter(prefix).number(kInt64Min).take()));
  EXPECT_TRUE(holds(TupleWriter(prefix).mark(std::string(16, '\xff')).take()));
  EXPECT_FALSE(holds(prefix));
  EXPECT_FALSE(holds(TupleWriter().string("a\0"s).take()));
  EXPECT_FALSE(holds(TupleWriter().string("a\0\xff"s).number(1).take()));
  EXPECT_FALSE(holds(TupleWriter().string("aa").take()));
}

}  // namespace
}  // namespace sluice::codec
