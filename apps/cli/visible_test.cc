// SPDX-License-Identifier: MIT
#include "cli/visible.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <span>
#include <string>

#include "cli/width_table.h"

namespace sluice::cli {
namespace {

using std::string_literals::operator""s;

TEST(Visible, plain_text_of_any_script_stays_as_it_is) {
  for (const char* text : {"", "echo hello", "a\\nb", "Grüße", "日本語", "👍🏽",
                           "👩‍👩‍👧", "e\u0301", "हिन्दी", "\U0001f1e9\U0001f1ea"}) {
    EXPECT_EQ(visible(text), text);
  }
}

TEST(Visible, what_commands_a_terminal_is_escaped) {
  const struct {
    std::string text;
    std::string_view expected;
  } rows[] = {{"a\nb", "a\\nb"},
              {"a\tb\r", "a\\tb\\r"},
              {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
              {"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
              {"nul\0byte"s, "nul\\x00byte"},
              {"\x7f", "\\x7f"},
              {"\xc2\x9b", "\\u009b"},
              {"\xc2\xa0", "\xc2\xa0"},
              {"\u202etxt.exe", "\\u202etxt.exe"},
              {"a\u200bb", "a\\u200bb"},
              {"\ufeff", "\\ufeff"},
              {"\u2028", "\\u2028"},
              {"\U000e0041", "\\U000e0041"}};
  for (const auto& row : rows) EXPECT_EQ(visible(row.text), row.expected);
}

TEST(Visible, bytes_that_are_not_utf_8_are_escaped_one_by_one) {
  const struct {
    std::string_view text;
    std::string_view expected;
  } rows[] = {{"\xff", "\\xff"},
              {"a\x80z", "a\\x80z"},
              {"\xc3", "\\xc3"},
              {"\xc3(", "\\xc3("},
              {"\xc0\xaf", "\\xc0\\xaf"},
              {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
              {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
              {"\xed\x9f\xbf", "\xed\x9f\xbf"},
              {"\xf4\x8f\xbf\xbd", "\xf4\x8f\xbf\xbd"},
              {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
              {std::string_view("\xf0\x9f\x91\x8d", 3), "\\xf0\\x9f\\x91"}};
  for (const auto& row : rows) EXPECT_EQ(visible(row.text), row.expected);
}

TEST(Visible, marks_need_a_character_and_do_not_pile_up) {
  EXPECT_EQ(visible("\u0301a"), "\\u0301a");
  const std::string at_most = "a\u0301\u0301\u0301\u0301";
  EXPECT_EQ(visible(at_most), at_most);
  EXPECT_EQ(visible(at_most + "\u0301\u0301b\u0301"), at_most + "\\u0301\\u0301b\u0301");
}

TEST(Visible, an_ascii_terminal_gets_ascii) {
  EXPECT_EQ(visible("a é 日 👍 \xff", Charset::ascii), "a \\u00e9 \\u65e5 \\U0001f44d \\xff");
}

RC_GTEST_PROP(Visible, leaves_nothing_to_be_escaped, (const std::string& text)) {
  const std::string shown = visible(text);
  RC_ASSERT(visible(shown) == shown);
  for (char c : shown) RC_ASSERT(c < 0 || (c >= ' ' && c != 0x7f));
  for (char c : visible(text, Charset::ascii)) RC_ASSERT(c >= ' ' && c <= '~');
}

TEST(InQuotes, is_for_messages) {
  EXPECT_EQ(in_quotes("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(in_quotes(std::string(60, 'x')), "\"" + std::string(60, 'x') + "\"");
  EXPECT_EQ(in_quotes(std::string(61, 'x')), "\"" + std::string(57, 'x') + "...\"");
}

TEST(TextWidth, counts_columns_of_the_terminal) {
  const struct {
    std::string_view text;
    std::size_t expected;
  } rows[] = {{"", 0},         {"abc", 3},  {"é", 1}, {"e\u0301", 1},
              {"日本語", 6},   {"한국", 4}, {"ｱ", 1}, {"Ａ", 2},
              {"👍", 2},       {"👍🏽", 4}, {"…", 1}, {"\u200d", 0},
              {"❤\ufe0f", 1},  {"𠀀", 2},   {"а", 1}, {"ไทย", 3},
              {"\xff\xfe", 2}, {"✅", 2},   {"✓", 1}, {"\U0001f1e9\U0001f1ea", 2}};
  for (const auto& row : rows) EXPECT_EQ(text_width(row.text), row.expected) << row.text;
}

TEST(TextWidth, at_the_edges_of_the_ranges) {
  EXPECT_EQ(char_width(0x2ff), 1u);
  EXPECT_EQ(char_width(0x300), 0u);
  EXPECT_EQ(char_width(0x36f), 0u);
  EXPECT_EQ(char_width(0x370), 1u);
  EXPECT_EQ(char_width(0x10ff), 1u);
  EXPECT_EQ(char_width(0x1100), 2u);
  EXPECT_EQ(char_width(0x302a), 0u);
  EXPECT_EQ(char_width(0x303f), 1u);
  EXPECT_EQ(char_width(0x3fffd), 2u);
  EXPECT_EQ(char_width(0x3fffe), 1u);
  EXPECT_EQ(char_width(0x10ffff), 1u);
}

TEST(TextWidth, the_ranges_are_sorted_and_apart) {
  for (std::span<const CharRange> ranges :
       {std::span<const CharRange>(kZeroWidth), std::span<const CharRange>(kWide)}) {
    char32_t end = 0;
    for (const CharRange& range : ranges) {
      EXPECT_LT(end, range.first);
      EXPECT_LE(range.first, range.last);
      end = range.last;
    }
  }
}

TEST(Cut, ends_in_an_ellipsis_and_is_never_too_wide) {
  const struct {
    std::string_view text;
    std::size_t width;
    std::string_view expected;
  } rows[] = {{"hello", 5, "hello"},
              {"hello", 4, "hel…"},
              {"hello", 1, "…"},
              {"hello", 0, ""},
              {"", 0, ""},
              {"日本語", 6, "日本語"},
              {"日本語", 5, "日本…"},
              {"日本語", 4, "日…"},
              {"日本語", 2, "…"},
              {"ab👍", 3, "ab…"},
              {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
              {"e\u0301e\u0301e\u0301", 2, "e\u0301…"}};
  for (const auto& row : rows) EXPECT_EQ(cut(row.text, row.width), row.expected) << row.width;
}

TEST(Cut, in_ascii_the_ellipsis_is_three_points) {
  EXPECT_EQ(cut("hello", 5, Charset::ascii), "hello");
  EXPECT_EQ(cut("hello", 4, Charset::ascii), "h...");
  EXPECT_EQ(cut("hello", 3, Charset::ascii), "...");
  EXPECT_EQ(cut("hello", 2, Charset::ascii), "..");
  EXPECT_EQ(cut("hello", 0, Charset::ascii), "");
  EXPECT_EQ(cut("he", 2, Charset::ascii), "he");
}

RC_GTEST_PROP(Cut, fits_whatever_the_text_is, (const std::string& text)) {
  const auto width = *rc::gen::inRange<std::size_t>(0, 20);
  const std::string shown = visible(text);
  const std::string less = cut(shown, width);
  RC_ASSERT(text_width(less) <= width);
  RC_ASSERT((less == shown) == (text_width(shown) <= width));
}

}  // namespace
}  // namespace sluice::cli
