// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "codec/json.h"

namespace sluice::codec::json {
namespace {

using std::string_literals::operator""s;

std::string written(std::string_view bytes) {
  return Writer().string(bytes).take();
}

template <class T>
std::string number(T value) {
  return Writer().number(value).take();
}

TEST(JsonWriter, commas_stand_where_they_belong) {
  Writer writer;
  writer.object().name("a").array().end_array().name("b").array().number(1).null().array();
  writer.end_array().object().end_object().boolean(true).end_array();
  writer.name("c").object().name("d").string("e").name("f").boolean(false).end_object();
  EXPECT_EQ(writer.text(), R"({"a":[],"b":[1,null,[],{},true],"c":{"d":"e","f":false})");
  EXPECT_EQ(writer.end_object().take(),
            R"({"a":[],"b":[1,null,[],{},true],"c":{"d":"e","f":false}})");
}

TEST(JsonWriter, a_writer_is_as_good_as_new_after_take) {
  Writer writer;
  EXPECT_EQ(writer.array().number(1).end_array().take(), "[1]");
  EXPECT_EQ(writer.text(), "");
  EXPECT_EQ(writer.array().number(2).end_array().take(), "[2]");
  EXPECT_EQ(writer.string("").take(), "\"\"");
}

TEST(JsonWriter, pretty_texts_have_a_line_for_each_member_and_element) {
  const Value inner{Object{{"b", Value{}}}};
  const Value value{
      Object{{"a", Value{Array{Value{1}, inner}}}, {"c", Value{Array{}}}, {"d", Value{Object{}}}}};
  EXPECT_EQ(to_text(value, Layout::pretty),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n"
            "  \"c\": [],\n  \"d\": {}\n}");
  EXPECT_EQ(to_text(Value{1}, Layout::pretty), "1");
  EXPECT_EQ(to_text(value), R"({"a":[1,{"b":null}],"c":[],"d":{}})");
}

TEST(JsonWriter, whole_numbers_of_every_type) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(std::int8_t{-128}), "-128");
  EXPECT_EQ(number(std::uint8_t{255}), "255");
  EXPECT_EQ(number(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(number(std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(number(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(JsonWriter, other_numbers_are_short_and_never_look_whole) {
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(1.0), "1.0");
  EXPECT_EQ(number(-0.0), "-0.0");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(123456789012345680.0), "123456789012345680.0");
  EXPECT_EQ(number(-1.7976931348623157e308), "-1.7976931348623157e+308");
  EXPECT_EQ(number(5e-324), "5e-324");
}

TEST(JsonWriter, only_what_must_be_escaped_is) {
  EXPECT_EQ(written("\"\\/\n\r\t\b\f"), R"("\"\\/\n\r\t\b\f")");
  EXPECT_EQ(written("\0\x01\x1f \x7f"s), "\"\\u0000\\u0001\\u001f \x7f\"");
  EXPECT_EQ(written("\u00e9\u20ac\U0001f600\u2028"), "\"\u00e9\u20ac\U0001f600\u2028\"");
  EXPECT_EQ(Writer().object().name("a\"\n").null().end_object().take(), R"({"a\"\n":null})");
}

TEST(JsonWriter, each_byte_that_is_not_utf8_is_replaced) {
  EXPECT_EQ(written("a\xff\xfe\"b"), "\"a\ufffd\ufffd\\\"b\"");
  EXPECT_EQ(written("\xe2\x82"), "\"\ufffd\ufffd\"");
  EXPECT_EQ(written("\xe2\x82\u20ac"), "\"\ufffd\ufffd\u20ac\"");
  EXPECT_EQ(written("\xed\xa0\x80"), "\"\ufffd\ufffd\ufffd\"");
  EXPECT_EQ(written("\xc0\x80"), "\"\ufffd\ufffd\"");
  EXPECT_EQ(written("\xf4\x90\x80\x80"), "\"\ufffd\ufffd\ufffd\ufffd\"");
}

TEST(JsonWriterDeath, misuse_stops_the_process) {
  EXPECT_DEATH(Writer().object().number(1), "check failed") << "a member without a name";
  EXPECT_DEATH(Writer().object().object(), "check failed");
  EXPECT_DEATH(Writer().name("a"), "check failed");
  EXPECT_DEATH(Writer().array().name("a"), "check failed");
  EXPECT_DEATH(Writer().object().name("a").name("b"), "check failed");
  EXPECT_DEATH(Writer().object().name("a").end_object(), "check failed");
  EXPECT_DEATH(Writer().object().end_array(), "check failed");
  EXPECT_DEATH(Writer().array().end_object(), "check failed");
  EXPECT_DEATH(Writer().end_array(), "check failed");
  EXPECT_DEATH(Writer().number(1).number(2), "check failed");
  EXPECT_DEATH(Writer().array().end_array().array(), "check failed");
  EXPECT_DEATH(static_cast<void>(Writer().take()), "check failed");
  EXPECT_DEATH(static_cast<void>(Writer().array().take()), "check failed");
  EXPECT_DEATH(Writer().number(std::numeric_limits<double>::infinity()), "check failed");
  EXPECT_DEATH(Writer().number(std::numeric_limits<double>::quiet_NaN()), "check failed");
}

}  // namespace
}  // namespace sluice::codec::json
