// SPDX-License-Identifier: MIT
#include "tracker/hash_list.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tracker/swarms_testing.h"

namespace sluice::tracker {
namespace {

const std::string kOne = "0100000000000000000000000000000000000000";
const std::string kMany = "ABCDEFabcdef0123456789000000000000000000";

TEST(HashList, a_hash_is_40_digits_in_either_case) {
  EXPECT_EQ(*parse_hash(kOne), hash_number(1));
  EXPECT_EQ(to_hex(*parse_hash(kMany)), "abcdefabcdef0123456789000000000000000000");
  for (const std::string& wrong :
       {std::string(), kOne.substr(1), kOne + "0", "g" + kOne.substr(1), "0x" + kOne.substr(2),
        " " + kOne.substr(1), kOne.substr(1) + "-"})
    EXPECT_EQ(parse_hash(wrong).error().code(), Code::invalid_argument) << wrong;
}

TEST(HashList, comments_blank_lines_and_white_space_do_not_count) {
  const auto list = HashList::parse(
      "# mine\n\n  \t\r\n" + kOne + "\n\t" + kMany + "  # a film\r\n" + kOne + "\n#" + kOne,
      "list");
  ASSERT_TRUE(list) << list.error().to_string();
  EXPECT_EQ(list->size(), 2u);
  EXPECT_TRUE(list->contains(hash_number(1)));
  EXPECT_TRUE(list->contains(*parse_hash(kMany)));
  EXPECT_FALSE(list->contains(hash_number(2)));
}

TEST(HashList, the_last_line_needs_no_end) {
  EXPECT_EQ(HashList::parse(kOne, "list")->size(), 1u);
  EXPECT_EQ(HashList::parse(kOne + "\n", "list")->size(), 1u);
  EXPECT_EQ(HashList::parse("", "list")->size(), 0u);
  EXPECT_EQ(HashList::parse("\n", "list")->size(), 0u);
}

TEST(HashList, what_is_wrong_is_named_with_its_line) {
  for (const std::string& wrong : {kOne.substr(1), kOne + "0", kOne + " " + kMany, std::string("x"),
                                   kOne.substr(0, 20) + std::string(1, '\0') + kOne.substr(21)}) {
    const auto list = HashList::parse(kOne + "\n\n" + wrong + "\n" + kOne, "allow.txt");
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().code(), Code::invalid_argument);
    EXPECT_NE(list.error().message().find("allow.txt, line 3"), std::string::npos)
        << list.error().to_string();
  }
}

TEST(HashList, it_is_read_from_a_file) {
  const test::TempDir dir;
  test::write_file(dir / "list", kOne + "\n");
  EXPECT_EQ(HashList::read(dir / "list")->size(), 1u);
  EXPECT_EQ(HashList::read(dir / "none").error().code(), Code::not_found);
  EXPECT_EQ(HashList::read(dir.path()).error().code(), Code::io_error);
}

TEST(HashList, access_is_to_all_to_what_is_listed_or_to_the_rest) {
  const auto list = HashList::parse(kOne, "list");
  const HashAccess all;
  const HashAccess allow = HashAccess::allow(*list);
  const HashAccess deny = HashAccess::deny(*list);
  EXPECT_TRUE(all.serves(hash_number(1)));
  EXPECT_TRUE(all.serves(hash_number(2)));
  EXPECT_TRUE(allow.serves(hash_number(1)));
  EXPECT_FALSE(allow.serves(hash_number(2)));
  EXPECT_FALSE(deny.serves(hash_number(1)));
  EXPECT_TRUE(deny.serves(hash_number(2)));
  EXPECT_FALSE(HashAccess::allow({}).serves(hash_number(1)));
  EXPECT_TRUE(HashAccess::deny({}).serves(hash_number(1)));
}

}  // namespace
}  // namespace sluice::tracker
