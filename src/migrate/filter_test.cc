// SPDX-License-Identifier: MIT
#include "migrate/filter.h"

#include <filesystem>

#include "migrate/local_tree.h"
#include "migrate/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::migrate {
namespace {

using testing::list_all;
using testing::Listed;
namespace fs = std::filesystem;

bool matches(const std::vector<Filter>& filters, const std::string& path) {
  const Filters made = Filters::make(filters).value();
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == path.npos ? path : path.substr(slash + 1);
  DirectoryFilter filter(made, path.substr(0, slash == path.npos ? 0 : slash));
  // Twice, because a filter keeps what it needs for the next name.
  const bool first = filter.matches(name.c_str());
  EXPECT_EQ(filter.matches(name.c_str()), first);
  return first;
}

TEST(Filter, without_a_slash_is_held_against_the_name) {
  EXPECT_TRUE(matches({{"*.o"}}, "a.o"));
  EXPECT_TRUE(matches({{"*.o"}}, "deep/down/a.o"));
  EXPECT_TRUE(matches({{"*"}}, ".hidden"));
  EXPECT_TRUE(matches({{"[ab]?"}}, "x/b\xff"));
  EXPECT_FALSE(matches({{"*.o"}}, "a.oo"));
  EXPECT_FALSE(matches({{"deep"}}, "deep/a.o"));
}

TEST(Filter, with_a_slash_is_held_against_the_path) {
  EXPECT_TRUE(matches({{"src/*.o"}}, "src/a.o"));
  EXPECT_TRUE(matches({{"src/*.o"}}, "src/deep/a.o"));
  EXPECT_FALSE(matches({{"src/*.o"}}, "other/src/a.o"));
  EXPECT_TRUE(matches({{"*/src/*.o"}}, "other/src/a.o"));
}

TEST(Filter, with_a_slash_in_front_means_a_path_from_the_root) {
  EXPECT_TRUE(matches({{"/cache"}}, "cache"));
  EXPECT_FALSE(matches({{"/cache"}}, "deep/cache"));
  EXPECT_TRUE(matches({{"/a/b"}}, "a/b"));
}

TEST(Filter, one_of_several_is_enough) {
  EXPECT_TRUE(matches({{"*.o"}, {"a/b"}}, "a/b"));
  EXPECT_TRUE(matches({{"*.o"}, {"a/b"}}, "x/y.o"));
  EXPECT_FALSE(matches({{"*.o"}, {"a/b"}}, "b"));
  EXPECT_FALSE(matches({}, "b"));
}

TEST(Filter, that_can_match_nothing_is_refused) {
  for (const std::string& glob :
       {std::string(), std::string("a/"), std::string("/"), std::string("a\0b", 3)})
    EXPECT_EQ(Filters::make({{glob}}).error().code(), Code::invalid_argument) << glob;
  EXPECT_EQ(open_local_tree({.root = "/", .filters = {{"a/"}}}).error().code(),
            Code::invalid_argument);
}

TEST(Filter, excludes_what_a_tree_lists_but_keeps_what_is_known_of_it) {
  const test::TempDir dir;
  fs::create_directories(dir / "src/deep");
  test::write_file(dir / "src/a.o", "12345");
  test::write_file(dir / "src/a.c", "");
  const auto tree =
      open_local_tree({.root = dir.path(), .filters = {{"*.o"}, {"/src/deep"}}}).value();
  const Listed listed = list_all(*tree, "src");
  EXPECT_TRUE(listed.at("a.o").excluded);
  EXPECT_EQ(listed.at("a.o").size, 5u);
  EXPECT_FALSE(listed.at("a.c").excluded);
  EXPECT_TRUE(listed.at("deep").excluded);
  EXPECT_FALSE(list_all(*tree, "").at("src").excluded);
}

}  // namespace
}  // namespace sluice::migrate
