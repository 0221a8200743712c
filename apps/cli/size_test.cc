// SPDX-License-Identifier: MIT
#include "cli/size.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace sluice::cli {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMiB = 1024 * 1024;

std::string refusal(std::string_view text) {
  const Result<std::uint64_t> size = parse_size(text);
  if (size) return "accepted";
  EXPECT_EQ(size.error().code(), Code::invalid_argument) << text;
  return size.error().message();
}

TEST(ParseSize, all_units_are_powers_of_1024) {
  const struct {
    std::string_view text;
    std::uint64_t expected;
  } rows[] = {{"0", 0},
              {"100", 100},
              {"100B", 100},
              {"64K", 64 * 1024},
              {"64k", 64 * 1024},
              {"64KB", 64 * 1024},
              {"10MiB", 10 * kMiB},
              {"10mib", 10 * kMiB},
              {"10 MiB", 10 * kMiB},
              {"1G", 1024 * kMiB},
              {"1.5G", 1536 * kMiB},
              {"1T", kMiB * kMiB},
              {"1P", 1024 * kMiB * kMiB},
              {"15E", 15 * kMiB * kMiB * kMiB},
              {"0.5", 0},
              {"0.0009K", 0},
              {"0.001K", 1}};
  for (const auto& row : rows) {
    const Result<std::uint64_t> size = parse_size(row.text);
    ASSERT_TRUE(size.has_value()) << row.text << ": " << size.error().to_string();
    EXPECT_EQ(*size, row.expected) << row.text;
  }
}

TEST(ParseSize, the_largest_is_accepted_and_one_more_is_not) {
  EXPECT_EQ(parse_size("18446744073709551615"), kMax);
  EXPECT_EQ(parse_size("15.9999999999999999999E"), kMax);
  for (std::string_view text : {"18446744073709551616", "16E", "99999999999999999999999"}) {
    EXPECT_NE(refusal(text).find("more than 16 EiB"), std::string::npos) << text;
  }
}

TEST(ParseSize, what_is_no_size_is_refused_with_the_reason) {
  const struct {
    std::string_view text;
    std::string_view reason;
  } rows[] = {{"", "it is empty"},
              {"-1", "it is negative"},
              {"K", "it does not begin with a number"},
              {"1.K", "it does not begin with a number"},
              {" 1", "it does not begin with a number"},
              {"1X", "unknown unit \"X\""},
              {"1Ki", "unknown unit \"Ki\""},
              {"1BB", "unknown unit \"BB\""},
              {"1iB", "unknown unit \"iB\""},
              {"1KxB", "unknown unit \"KxB\""},
              {"1KiBB", "unknown unit \"KiBB\""},
              {"1  K", "unknown unit \" K\""},
              {"1 ", "unknown unit \" \""},
              {"1K ", "unknown unit \"K \""}};
  for (const auto& row : rows) {
    EXPECT_NE(refusal(row.text).find(row.reason), std::string::npos) << refusal(row.text);
  }
  EXPECT_EQ(refusal("1X"),
            "\"1X\" is not a size: unknown unit \"X\"; write for example 100, 64K, 10MiB or 1.5G "
            "(powers of 1024)");
}

TEST(FormatSize, the_largest_unit_rounded_to_one_decimal) {
  const struct {
    std::uint64_t bytes;
    std::string_view expected;
  } rows[] = {{0, "0 B"},
              {1023, "1023 B"},
              {1024, "1 KiB"},
              {1024 + 51, "1 KiB"},
              {1024 + 52, "1.1 KiB"},
              {64 * 1024, "64 KiB"},
              {kMiB - 52, "1023.9 KiB"},
              {kMiB - 51, "1 MiB"},
              {kMiB * 14 / 10, "1.4 MiB"},
              {kMiB * kMiB, "1 TiB"},
              {kMax, "16 EiB"},
              {kMax / 2 + 1, "8 EiB"}};
  for (const auto& row : rows) EXPECT_EQ(format_size(row.bytes), row.expected) << row.bytes;
}

TEST(FormatCount, has_a_separator_every_three_digits) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(999'999), "999,999");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_count(kMax), "18,446,744,073,709,551,615");
}

}  // namespace
TEST(Plural, takes_an_s_unless_there_is_one) {
  EXPECT_EQ(plural(0, "job"), "0 jobs");
  EXPECT_EQ(plural(1, "job"), "1 job");
  EXPECT_EQ(plural(1'234, "job"), "1,234 jobs");
}

}  // namespace sluice::cli
