// SPDX-License-Identifier: MIT
#include "cli/suggest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace sluice::cli {
namespace {

constexpr std::array<std::string_view, 14> kVerbs = {
    "enqueue", "list", "show",   "status", "logs",   "wait",   "cancel",
    "retry",   "hold", "unhold", "pause",  "worker", "config", "completion"};

using Words = std::vector<std::string>;

TEST(EditDistance, counts_letters_added_left_out_replaced_and_swapped) {
  const struct {
    std::string_view a;
    std::string_view b;
    std::size_t expected;
  } rows[] = {{"", "", 0},         {"", "abc", 3},      {"abc", "", 3},
              {"list", "list", 0}, {"lst", "list", 1},  {"liist", "list", 1},
              {"lost", "list", 1}, {"lsit", "list", 1}, {"kitten", "sitting", 3},
              {"ab", "ba", 1},     {"ca", "abc", 3},    {"abcdef", "badcfe", 3},
              {"abc", "xyz", 3}};
  for (const auto& row : rows) {
    EXPECT_EQ(edit_distance(row.a, row.b), row.expected) << row.a << " " << row.b;
    EXPECT_EQ(edit_distance(row.b, row.a), row.expected) << row.b << " " << row.a;
  }
}

TEST(Closest, the_nearest_candidates_in_their_order) {
  const struct {
    std::string_view word;
    Words expected;
  } rows[] = {{"lsit", {"list"}},
              {"enqeue", {"enqueue"}},
              {"statsu", {"status"}},
              {"LIST", {"list"}},
              {"hodl", {"hold"}},
              {"uhnold", {"unhold"}},
              {"comp", {"completion"}},
              {"c", {"cancel", "config", "completion"}},
              {"workers", {"worker"}},
              {"compltin", {"completion"}},
              {"xyzzy", {}},
              {"x", {}},
              {"", {}}};
  for (const auto& row : rows) EXPECT_EQ(closest(row.word, kVerbs), row.expected) << row.word;
}

TEST(Closest, near_is_half_of_a_short_word_and_a_third_of_a_long_one) {
  const auto is_near = [](std::string_view word, std::string_view candidate) {
    return !closest(word, std::array{candidate}).empty();
  };
  EXPECT_FALSE(is_near("a", "b"));
  EXPECT_TRUE(is_near("ab", "ax"));
  EXPECT_FALSE(is_near("ab", "xy"));
  EXPECT_FALSE(is_near("abc", "axy"));
  EXPECT_TRUE(is_near("abcd", "abxy"));
  EXPECT_FALSE(is_near("abcd", "axyz"));
  EXPECT_FALSE(is_near("abcdefgh", "abcdexyz"));
  EXPECT_TRUE(is_near("abcdefghi", "abcdefxyz"));
  EXPECT_FALSE(is_near("abcdefghi", "abcdewxyz"));
}

TEST(Closest, no_more_than_a_few_and_nothing_for_what_is_no_word) {
  constexpr std::array<std::string_view, 5> kMany = {"aa", "ab", "ac", "ad", "ae"};
  EXPECT_EQ(closest("a", kMany), (Words{"aa", "ab", "ac"}));
  const std::string longest(kSuggestWordBytesMax, 'w');
  const std::string longer(kSuggestWordBytesMax + 1, 'w');
  EXPECT_EQ(closest(longest, std::array<std::string_view, 1>{longest}).size(), 1u);
  EXPECT_EQ(closest(longer, std::array<std::string_view, 1>{longer}).size(), 0u);
}

TEST(DidYouMean, is_a_question_or_nothing) {
  EXPECT_EQ(did_you_mean("lsit", kVerbs), "did you mean \"list\"?");
  EXPECT_EQ(did_you_mean("co", kVerbs), "did you mean \"config\" or \"completion\"?");
  EXPECT_EQ(did_you_mean("c", kVerbs), "did you mean \"cancel\", \"config\" or \"completion\"?");
  EXPECT_EQ(did_you_mean("xyzzy", kVerbs), "");
}

}  // namespace
}  // namespace sluice::cli
