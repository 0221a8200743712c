// SPDX-License-Identifier: MIT
#include "migrate/listing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace sluice::migrate {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> names_of(const Listing& listing) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < listing.size(); ++i) names.emplace_back(listing.at(i).name);
  return names;
}

TEST(Listing, an_entry_comes_back_with_all_that_is_known_of_it) {
  const Entry entry{.name = "name",
                    .kind = Kind::link,
                    .mode = 07777,
                    .uid = 1,
                    .gid = 2,
                    .size = 3,
                    .mtime_ns = -4,
                    .target = "target",
                    .rdev_major = 5,
                    .rdev_minor = 6,
                    .device = 7,
                    .inode = 8,
                    .hash = Hash{9},
                    .error = 10,
                    .excluded = true,
                    .id = 11};
  Listing listing;
  listing.add({.name = "before"});
  listing.add(entry);
  EXPECT_EQ(listing.at(1), entry);
}

TEST(Listing, names_and_targets_are_copied) {
  Listing listing;
  {
    std::string name = "a name that is too long to be stored in the string itself";
    std::string target = "and a target";
    listing.add({.name = name, .kind = Kind::link, .target = target});
    name.assign(name.size(), 'x');
    target.assign(target.size(), 'x');
  }
  EXPECT_EQ(listing.at(0).name, "a name that is too long to be stored in the string itself");
  EXPECT_EQ(listing.at(0).target, "and a target");
}

TEST(Listing, it_is_in_the_order_of_adding_until_it_is_sorted) {
  Listing listing;
  for (const char* name : {"b", "c", "a"}) listing.add({.name = name});
  EXPECT_EQ(names_of(listing), (std::vector<std::string>{"b", "c", "a"}));
  listing.sort();
  EXPECT_EQ(names_of(listing), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Listing, names_sort_as_unsigned_bytes) {
  const std::vector<std::string> sorted = {
      "",          "\0"s,     "\0\0"s,      "\0a"s,        "A",        "a",           "a\0"s,
      "a\1",       "aaaaaaa", "aaaaaaa\0"s, "aaaaaaa\0b"s, "aaaaaaaa", "aaaaaaaa\0"s, "aaaaaaaab",
      "aaaaaaaac", "b",       "\x7f",       "\x80",        "\xff",     "\xff\xff",
  };
  Listing listing;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    listing.add({.name = sorted[i * 7 % sorted.size()]});
  listing.sort();
  EXPECT_EQ(names_of(listing), sorted);
}

RC_GTEST_PROP(ListingProperty, any_names_are_sorted_and_keep_what_belongs_to_them,
              (const std::set<std::string>& names)) {
  std::vector<std::string> shuffled(names.begin(), names.end());
  std::ranges::sort(shuffled, {}, [](const std::string& name) {
    return std::string(name.rbegin(), name.rend());
  });
  Listing listing;
  for (const std::string& name : shuffled)
    listing.add({.name = name, .size = std::hash<std::string>()(name), .target = name});
  listing.sort();
  RC_ASSERT(names_of(listing) == std::vector<std::string>(names.begin(), names.end()));
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const Entry entry = listing.at(i);
    RC_ASSERT(entry.target == entry.name);
    RC_ASSERT(entry.size == std::hash<std::string>()(std::string(entry.name)));
  }
}

TEST(Listing, a_cleared_one_is_empty_and_can_be_used_again) {
  Listing listing;
  listing.add({.name = "b"});
  listing.add({.name = "a"});
  EXPECT_EQ(listing.size(), 2u);
  EXPECT_GT(listing.bytes(), 2 * sizeof(Entry));
  listing.clear();
  EXPECT_TRUE(listing.empty());
  EXPECT_EQ(listing.bytes(), 0u);
  listing.add({.name = "c"});
  listing.sort();
  EXPECT_EQ(names_of(listing), std::vector<std::string>{"c"});
}

TEST(Listing, names_of_any_number_of_blocks_stay_where_they_are) {
  Listing listing;
  std::vector<std::string> names;
  for (int number = 10'000; number < 20'000; ++number) {
    names.push_back(std::to_string(number) + std::string(number % 300, 'x'));
    listing.add({.name = names.back(), .kind = Kind::link, .target = names.front()});
  }
  const Entry& first = listing.at(0);
  const Listing moved = std::move(listing);
  EXPECT_EQ(names_of(moved), names);
  EXPECT_EQ(first.name, names.front());
  EXPECT_EQ(moved.at(9'999).target, names.front());
}

TEST(Listing, the_longest_text_fills_a_block_and_one_more_byte_stops_the_process) {
  Listing listing;
  const std::string longest(Listing::kTextBytesMax, 'x');
  listing.add({.name = "a"});
  listing.add({.name = longest, .target = longest});
  EXPECT_EQ(listing.at(1).name, longest);
  EXPECT_EQ(listing.at(1).target, longest);
  EXPECT_DEATH(listing.add({.name = longest + "x"}), "check failed");
}

TEST(Listing, an_index_beyond_the_end_stops_the_process) {
  Listing listing;
  listing.add({.name = "a"});
  EXPECT_DEATH(listing.at(1), "check failed");
}

}  // namespace
}  // namespace sluice::migrate
