// SPDX-License-Identifier: MIT
#include "migrate/temp_name.h"

#include <filesystem>
#include <set>

#include "migrate/copy_testing.h"

namespace sluice::migrate::testing {
namespace {

TEST(TempName, is_short_and_the_same_for_the_same_only) {
  const std::string long_name(255, 'n');
  std::set<std::string> all;
  for (const char* tag : {"", "a", "ab", "run-1"})
    for (const std::string& name :
         {std::string(), std::string("b"), std::string("ab"), long_name}) {
      const std::string temp = temp_name(tag, name);
      EXPECT_EQ(temp, temp_name(tag, name));
      EXPECT_EQ(temp.size(), 28U);
      EXPECT_TRUE(is_temp_name(temp)) << temp;
      all.insert(temp);
    }
  EXPECT_EQ(all.size(), 16U);
  for (const char* other :
       {"", ".sluice-", ".sluice-0123456789abcdef", ".sluice-0123456789abcdeg.tmp",
        ".sluice-0123456789ABCDEF.tmp", "sluice--0123456789abcdef.tmp"})
    EXPECT_FALSE(is_temp_name(other)) << other;
}

TEST(TempName, cleaning_takes_what_killed_runs_left_and_nothing_else) {
  const TwoTrees trees;
  for (int n = 0; n < 1000; ++n) trees.write_dst(temp_name("run", std::to_string(n)), "half");
  std::filesystem::create_symlink("/etc/passwd", trees.dst_path(temp_name("run", "link")));
  const std::string folder = temp_name("run", "folder");
  std::filesystem::create_directory(trees.dst_path(folder));
  const std::vector<std::string> others = {folder, ".sluice-mine.tmp", "file"};
  trees.write_dst(others[1], "");
  trees.write_dst(others[2], "");
  EXPECT_EQ(clean_temps(trees.dst.get()).value_or(0), 1001U);
  EXPECT_EQ(names_in(trees.dir / "dst").size(), others.size());
  for (const std::string& name : others)
    EXPECT_TRUE(std::filesystem::exists(trees.dst_path(name))) << name;
  EXPECT_EQ(clean_temps(trees.dst.get()).value_or(1), 0U);
}

}  // namespace
}  // namespace sluice::migrate::testing
