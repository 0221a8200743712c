// SPDX-License-Identifier: MIT
#include "codec/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace sluice::codec::json {
namespace {

using std::string_literals::operator""s;

constexpr auto kInt64Min = std::numeric_limits<std::int64_t>::min();
constexpr auto kInt64Max = std::numeric_limits<std::int64_t>::max();

Value parsed(std::string_view text) {
  const Result<Value> value = parse(text);
  EXPECT_TRUE(value.has_value()) << text << ": " << value.error().message();
  return value.value_or(Value{});
}

std::string refusal(std::string_view text, ParseLimits limits = {}) {
  const Result<Value> value = parse(text, limits);
  if (value) return "accepted";
  EXPECT_EQ(value.error().code(), Code::invalid_argument);
  return value.error().message();
}

/// Where the text is refused, without what is wrong there.
std::string place(std::string_view text) {
  const std::string message = refusal(text);
  return message.substr(0, message.find(':'));
}

std::string nested(std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += i % 2 ? "{\"a\":" : "[";
  text += "0";
  for (std::size_t i = depth; i > 0; --i) text += i % 2 ? "]" : "}";
  return text;
}

/// {"0":0,"1":0,...} with `more` before its end.
std::string members(std::size_t count, std::string_view more = "") {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i)
    text.append(i ? "," : "").append("\"" + std::to_string(i) + "\":0");
  return text.append(more).append("}");
}

TEST(JsonParse, every_kind_of_value) {
  EXPECT_EQ(parsed("null"), Value{});
  EXPECT_EQ(parsed("true"), Value{true});
  EXPECT_EQ(parsed("false"), Value{false});
  EXPECT_EQ(parsed("-12"), Value{-12});
  EXPECT_EQ(parsed("1.5"), Value{1.5});
  EXPECT_EQ(parsed("\"text\""), Value{"text"});
  EXPECT_EQ(parsed("[]"), Value{Array{}});
  EXPECT_EQ(parsed("{}"), Value{Object{}});
  EXPECT_EQ(parsed("[1,[],\"\"]"), (Value{Array{Value{1}, Value{Array{}}, Value{""}}}));
}

TEST(JsonParse, members_keep_their_order) {
  const Value value = parsed(R"({"b":1,"a":{"b":null},"":3})");
  const Value inner{Object{{"b", Value{}}}};
  EXPECT_EQ(value, (Value{Object{{"b", Value{1}}, {"a", inner}, {"", Value{3}}}}));
  EXPECT_NE(value, (Value{Object{{"a", inner}, {"b", Value{1}}, {"", Value{3}}}}));
}

TEST(JsonParse, white_space_may_stand_between_any_two_signs) {
  EXPECT_EQ(parsed(" \t\r\n{ \"a\"\n:\t[ 1 ,\r\n2 ] , \"b\" : { } } \n"),
            parsed(R"({"a":[1,2],"b":{}})"));
  EXPECT_EQ(parsed("[ ]"), Value{Array{}});
  EXPECT_EQ(refusal("[1,\f2]"),
            "line 1, column 4: expected a value after ',', found the control character U+000C");
  EXPECT_EQ(refusal("\u00a01"), "line 1, column 1: expected a value, found '\u00a0'");
}

TEST(JsonParse, escapes) {
  EXPECT_EQ(parsed(R"("\"\\\/\b\f\n\r\t")"), Value{"\"\\/\b\f\n\r\t"});
  EXPECT_EQ(parsed(R"("x\u0041y\u00e9\u00E9\u20ac")"), Value{"xAy\u00e9\u00e9\u20ac"});
  EXPECT_EQ(parsed(R"("a\u0000b")"), Value{"a\0b"s});
  EXPECT_EQ(parsed(R"({"\u0061":1})"), parsed(R"({"a":1})"));
}

TEST(JsonParse, escapes_at_the_edges_of_each_size_of_utf8) {
  EXPECT_EQ(parsed(R"("\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff")"),
            Value{"\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff"});
  EXPECT_EQ(parsed(R"("\ud800\udc00\uD83D\uDE00\udbff\udfff")"),
            Value{"\U00010000\U0001f600\U0010ffff"});
}

TEST(JsonParse, half_a_surrogate_pair_is_refused) {
  const std::string_view why = ": \\uD800 is half of a surrogate pair, without the other";
  for (const char* text : {R"("é\ud800")", R"("é\ud800x")", R"("é\ud800\n")", R"("é\ud800\ud800")",
                           R"("é\ud800\u0041")", R"("é\ud800\udbff")", R"("é\ud800\ue000")"})
    EXPECT_EQ(refusal(text), "line 1, column 3" + std::string(why)) << text;
  EXPECT_EQ(place(R"("\udc00")"), "line 1, column 2");
  EXPECT_EQ(place(R"("\udfff\ud800")"), "line 1, column 2");
}

TEST(JsonParse, malformed_escapes_are_refused) {
  EXPECT_EQ(refusal(R"("\x41")"),
            "line 1, column 3: expected one of \"\\/bfnrtu after '\\', found 'x41'");
  EXPECT_EQ(refusal("\"\\"),
            "line 1, column 3: expected one of \"\\/bfnrtu after '\\', found the end of the text");
  EXPECT_EQ(refusal(R"("\u00g0")"),
            "line 1, column 6: expected four hexadecimal digits after '\\u', found 'g0'");
  for (const char* text : {R"("\u004")", R"("\u")", R"("\u004`")", R"("\u004@")", R"("\u004:")",
                           R"("\u004G")", R"("\ud800\u12")", R"("\U0041")", "\"\\\n\"", "\"\\u00"})
    EXPECT_NE(refusal(text), "accepted") << text;
  EXPECT_NE(refusal("\"\\\0\""s), "accepted");
}

TEST(JsonParse, control_characters_in_strings_are_refused_and_delete_is_not) {
  for (char byte = 0; byte < 0x20; ++byte)
    EXPECT_EQ(place("\"a"s + byte + "\""), "line 1, column 3") << int{byte};
  EXPECT_EQ(refusal("\"\n\""),
            "line 1, column 2: found the control character U+000A in a string: "
            "write it as an escape");
  EXPECT_EQ(parsed("\" \x7f\""), Value{" \x7f"});
}

TEST(JsonParse, utf8_is_taken_as_it_is_up_to_the_last_character) {
  const std::string text = "\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff";
  EXPECT_EQ(parsed("\"" + text + "\""), Value{text});
}

TEST(JsonParse, what_is_not_utf8_is_refused) {
  EXPECT_EQ(refusal("[\"\u00e9\xff\"]"),
            "line 1, column 4: found the byte 0xFF, which is not UTF-8");
  for (const char* bytes :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xc2\xc0", "\xe0\x9f\xbf",
        "\xe0\xa0", "\xed\xa0\x80", "\xed\xbf\xbf", "\xef\xbf\x7f", "\xf0\x8f\xbf\xbf",
        "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(place("\""s + bytes + "\""), "line 1, column 2") << testing::PrintToString(bytes);
    EXPECT_EQ(place("\""s + bytes), "line 1, column 2") << testing::PrintToString(bytes);
    EXPECT_EQ(place("{\""s + bytes + "\":0}"), "line 1, column 3");
  }
  EXPECT_EQ(refusal("\xef\xbb\xbf{}"),
            "line 1, column 1: expected a value, found a byte order mark");
  EXPECT_EQ(refusal("\xff"),
            "line 1, column 1: expected a value, found the byte 0xFF, which is not UTF-8");
}

TEST(JsonParse, whole_numbers_up_to_the_ends_of_their_range) {
  EXPECT_EQ(parsed("9223372036854775807"), Value{kInt64Max});
  EXPECT_EQ(parsed("-9223372036854775808"), Value{kInt64Min});
  EXPECT_EQ(parsed("-0"), Value{0});
  EXPECT_EQ(refusal("[9223372036854775808]"),
            "line 1, column 2: the number 9223372036854775808 is too large: whole numbers go from "
            "-9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(place("[0,-9223372036854775809]"), "line 1, column 4");
  EXPECT_EQ(parsed("9223372036854775808.0"), Value{9223372036854775808.0});
  EXPECT_EQ(parsed("9223372036854775808e0"), Value{9223372036854775808.0});
}

TEST(JsonParse, numbers_with_a_point_or_an_exponent) {
  EXPECT_EQ(parsed("0.0"), Value{0.0});
  EXPECT_EQ(parsed("-0.25"), Value{-0.25});
  EXPECT_EQ(parsed("1e2"), Value{100.0});
  EXPECT_EQ(parsed("1E+2"), Value{100.0});
  EXPECT_EQ(parsed("12.5e-1"), Value{1.25});
  EXPECT_EQ(parsed("0e007"), Value{0.0});
  EXPECT_NE(parsed("1.0"), parsed("1"));
}

TEST(JsonParse, a_number_that_rounds_to_infinity_is_refused) {
  EXPECT_EQ(parsed("1.7976931348623157e308"), Value{std::numeric_limits<double>::max()});
  EXPECT_EQ(parsed("1.7976931348623158e308"), Value{std::numeric_limits<double>::max()});
  EXPECT_EQ(refusal("1.7976931348623159e308"),
            "line 1, column 1: the number 1.7976931348623159e308 is too large: "
            "numbers go to 1.79e308");
  const std::string zeros(400, '0');
  for (const std::string& text :
       {"-1e309"s, "1e99999999999999999999"s, "12e9223372036854775807"s, "12e2147483647"s,
        "1" + zeros + ".0", "1" + zeros + "e-9", "0." + zeros + "1e+800"})
    EXPECT_NE(refusal(text).find("too large"), std::string::npos) << text;
}

TEST(JsonParse, a_number_too_small_for_a_double_is_zero) {
  const std::string zeros(400, '0');
  EXPECT_EQ(parsed("5e-324"), Value{std::numeric_limits<double>::denorm_min()});
  for (const std::string& text :
       {"1e-400"s, "2e-324"s, "1e-99999999999999999999"s, "0.01e-9223372036854775808"s,
        "0.01e-2147483648"s, "0." + zeros + "1", "0." + zeros + "1e9", "1" + zeros + "e-800",
        "0.0e99999999999999999999"s})
    EXPECT_EQ(parsed(text), Value{0.0}) << text;
  EXPECT_TRUE(std::signbit(*parsed("-1e-400").as<double>()));
  EXPECT_TRUE(std::signbit(*parsed("-0.0").as<double>()));
}

TEST(JsonParse, malformed_numbers_are_refused) {
  EXPECT_EQ(refusal("[01]"), "line 1, column 2: a number must not begin with a zero");
  EXPECT_EQ(refusal("-00"), "line 1, column 1: a number must not begin with a zero");
  EXPECT_EQ(refusal("-Infinity"), "line 1, column 2: expected a digit after '-', found 'Infinity'");
  EXPECT_EQ(refusal("1."),
            "line 1, column 3: expected a digit after '.', found the end of the text");
  EXPECT_EQ(refusal("1e+"),
            "line 1, column 4: expected a digit in the exponent, found the end of the text");
  for (const char* text : {"-", "+1", ".5", "1.e1", "1e", "1e1.5", "1.5.5", "0x10", "1_000", "--1",
                           "1e--1", "-.5", "NaN", "Infinity", "1f", "0b1", "\uff11"})
    EXPECT_NE(refusal(text), "accepted") << text;
}

TEST(JsonParse, a_refusal_names_what_was_expected_and_what_was_found) {
  EXPECT_EQ(refusal(R"({"job":7, "id" 1})"),
            "line 1, column 16: expected ':' after the name \"id\", found '1'");
  EXPECT_EQ(refusal(""), "line 1, column 1: expected a value, found the end of the text");
  EXPECT_EQ(refusal(" \n "), "line 2, column 2: expected a value, found the end of the text");
  EXPECT_EQ(refusal("[1,]"), "line 1, column 4: expected a value after ',', found ']'");
  EXPECT_EQ(refusal("[,1]"), "line 1, column 2: expected a value after '[', found ','");
  EXPECT_EQ(refusal("{\"a\": }"), "line 1, column 7: expected a value after ':', found '}'");
  EXPECT_EQ(refusal("{\"a\":1, }"),
            "line 1, column 9: expected a name in quotes after ',', found '}'");
  EXPECT_EQ(refusal("{a:1}"), "line 1, column 2: expected a name in quotes after '{', found 'a'");
  EXPECT_EQ(refusal("[1 2]"), "line 1, column 4: expected ',' or ']' in the array, found '2'");
  EXPECT_EQ(refusal("{\"a\":1]"), "line 1, column 7: expected ',' or '}' in the object, found ']'");
  EXPECT_EQ(refusal("\"ab"),
            "line 1, column 4: expected '\"' at the end of the string, found the end of the text");
  EXPECT_EQ(refusal("True"), "line 1, column 1: expected a value, found 'True'");
  EXPECT_EQ(refusal("[nul]"), "line 1, column 2: expected a value after '[', found 'nul'");
  EXPECT_EQ(refusal("1 // one"),
            "line 1, column 3: expected the end of the text after the value, "
            "found a comment, which JSON has not");
  EXPECT_EQ(place("/* one */ 1"), "line 1, column 1");
}

TEST(JsonParse, bytes_after_the_value_are_refused) {
  EXPECT_EQ(refusal("1\0"s),
            "line 1, column 2: expected the end of the text after the value, "
            "found the control character U+0000");
  for (const char* text : {"1 2", "{}}", "[]]", "[],", "truex", "nullnull", "\"\"\"", "{} {}"})
    EXPECT_NE(refusal(text), "accepted") << text;
  EXPECT_NE(refusal("\0"s), "accepted");
  EXPECT_NE(refusal("[1\0]"s), "accepted");
}

TEST(JsonParse, lines_and_columns_count_characters) {
  EXPECT_EQ(place("[\"\u00e9\u20ac\U0001f600\" x"), "line 1, column 8");
  EXPECT_EQ(place("[\n\"\u00e9\",\r\n  x"), "line 3, column 3");
  EXPECT_EQ(place("[1,\n\n\n"), "line 4, column 1");
}

TEST(JsonParse, a_refusal_shows_only_a_short_piece_of_the_text) {
  EXPECT_EQ(
      refusal("{\"" + std::string(40, 'n') + "\"}"),
      "line 1, column 44: expected ':' after the name \"" + std::string(40, 'n') + "\", found '}'");
  EXPECT_EQ(refusal("{\"" + std::string(41, 'n') + "\"}"),
            "line 1, column 45: expected ':' after the name \"" + std::string(40, 'n') +
                "...\", found '}'");
  EXPECT_EQ(refusal("{\"" + std::string(39, 'n') + "\u20ac\"}"),
            "line 1, column 44: expected ':' after the name \"" + std::string(39, 'n') +
                "...\", found '}'");
  EXPECT_EQ(refusal("{\"\\n\u00e9\"}"),
            "line 1, column 7: expected ':' after the name \"\\n\u00e9\", found '}'");
}

TEST(JsonParse, a_name_that_stands_twice_is_refused) {
  EXPECT_EQ(refusal(R"({"a":1,"b":2,"a":3})"),
            "line 1, column 14: the name \"a\" stands twice in the object");
  EXPECT_EQ(place(R"({"b":{"x":1,"y":2},"c":{"x":1,"\u0078":2}})"), "line 1, column 31");
  EXPECT_EQ(place(R"({"b":{"x":1,"y":2},"c":3,"b":4})"), "line 1, column 26");
  EXPECT_EQ(parsed(R"({"a":{"a":1},"A":[{"a":2},{"a":2}]})").find("a")->find("a")->kind(),
            Kind::integer);
}

TEST(JsonParse, names_are_compared_in_objects_of_any_size) {
  for (std::size_t count : {1, 2, 15, 16, 17, 100, 5000}) {
    EXPECT_EQ(parsed(members(count)).as<Object>()->size(), count);
    const std::string text = members(count);
    const std::string last = std::to_string(count - 1);
    // Behind the comma, which stands where the text without the repetition has its end.
    const std::string at = "line 1, column " + std::to_string(text.size() + 1);
    EXPECT_EQ(refusal(members(count, ",\"" + last + "\":1,\"" + last + "\":2")),
              at + ": the name \"" + last + "\" stands twice in the object");
    EXPECT_EQ(place(members(count, ",\"0\":1")), at);
  }
}

TEST(JsonParse, nesting_is_read_to_its_limit_and_refused_one_past_it) {
  EXPECT_EQ(refusal(nested(64)), "accepted");
  EXPECT_EQ(refusal("[" + std::string(63, '[') + "[]" + std::string(64, ']')),
            "line 1, column 65: arrays and objects are nested more than 64 deep");
  EXPECT_NE(refusal(nested(65)), "accepted");
  EXPECT_EQ(refusal(nested(3), {.depth_max = 3}), "accepted");
  EXPECT_NE(refusal(nested(4), {.depth_max = 3}), "accepted");
  EXPECT_EQ(refusal("1", {.depth_max = 0}), "accepted");
  EXPECT_NE(refusal("[]", {.depth_max = 0}), "accepted");
  EXPECT_NE(refusal(std::string(1'000'000, '[')), "accepted");
}

TEST(JsonParse, what_stands_side_by_side_is_not_nested) {
  EXPECT_EQ(refusal("[[],{},[[]],{\"a\":[]},[]]", {.depth_max = 3}), "accepted");
  EXPECT_EQ(refusal("[{\"a\":0},{\"a\":0},[0]]", {.depth_max = 2}), "accepted");
}

TEST(JsonValue, members_are_found_by_name) {
  const Value value = parsed(R"({"a":1,"b":{"c":"d"}})");
  EXPECT_EQ(*value.find("a"), Value{1});
  EXPECT_EQ(*value.find("b")->find("c")->as<std::string>(), "d");
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(value.find(""), nullptr);
  EXPECT_EQ(Value{"a"}.find("a"), nullptr);
  EXPECT_EQ(value.find("a")->as<double>(), nullptr);
}

TEST(JsonValue, kinds_have_names_for_messages) {
  const Value all = parsed(R"([null,true,1,1.5,"",[],{}])");
  std::string names;
  for (const Value& value : *all.as<Array>()) names.append(value.kind_name()).append(", ");
  EXPECT_EQ(names, "null, a boolean, a number, a number, a string, an array, an object, ");
  EXPECT_EQ(Value{}.kind(), Kind::null);
  EXPECT_EQ(Value{Object{}}.kind(), Kind::object);
}

TEST(Json, members_may_be_kept_as_their_text) {
  const std::string text =
      R"({"a":{"data": [1,{"data":2, "big":123456789012345678901234567890}, 1e999] ,"b":1}})";
  const Value value = parse(text, {.raw = "data"}).value();
  const auto* raw = value.find("a")->find("data")->as<Raw>();
  ASSERT_NE(raw, nullptr);
  EXPECT_EQ(raw->text, R"([1,{"data":2, "big":123456789012345678901234567890}, 1e999])");
  Writer writer;
  EXPECT_EQ(writer.value(value).take(), R"({"a":{"data":[1,{"data":2, "big":)"
                                        R"(123456789012345678901234567890}, 1e999],"b":1}})");
  for (const char* bad : {R"({"data":})", R"({"data":[1,]})", R"({"data":{"a":1,"a":2}})",
                          R"({"data":01})", R"({"data":"\ud800"})", R"({"data":1 2})"})
    EXPECT_FALSE(parse(bad, {.raw = "data"})) << bad;
  EXPECT_FALSE(parse(R"({"other":1e999})", {.raw = "data"}));
}

TEST(Json, large_whole_numbers_may_be_rounded) {
  EXPECT_EQ(*parse("18446744073709551616", {.round_integers = true})->as<double>(), 0x1p64);
  EXPECT_EQ(*parse("9223372036854775807", {.round_integers = true})->as<std::int64_t>(), INT64_MAX);
  EXPECT_FALSE(parse("1" + std::string(400, '0'), {.round_integers = true}));
}

}  // namespace
}  // namespace sluice::codec::json
