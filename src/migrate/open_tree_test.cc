// SPDX-License-Identifier: MIT
#include "migrate/open_tree.h"

#include <filesystem>

#include "migrate/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::migrate {
namespace {

using testing::list_all;
namespace fs = std::filesystem;

TEST(OpenTree, a_path_is_a_local_tree) {
  const ManualClock clock;
  const test::TempDir dir;
  fs::create_directory(dir / "sim:seed=1");
  test::write_file(dir / "sim:seed=1/file", "");
  const auto tree = open_tree(dir / "sim:seed=1", {.clock = clock, .filters = {{"f*"}}}).value();
  EXPECT_EQ(tree->name(), fs::canonical(dir / "sim:seed=1").string());
  EXPECT_TRUE(list_all(*tree, "").at("file").excluded);
  EXPECT_EQ(open_tree(dir / "none", {.clock = clock}).error().code(), Code::not_found);
}

TEST(OpenTree, sim_is_a_made_up_one) {
  const ManualClock clock;
  const auto tree =
      open_tree("sim:files=9,folders=0", {.clock = clock, .filters = {{"*"}}}).value();
  EXPECT_EQ(tree->name(), "sim:seed=1,world=src,depth=4,folders=0-0,files=9-9");
  EXPECT_EQ(list_all(*tree, "").all.size(), 9u);
  EXPECT_TRUE(list_all(*tree, "").all.at(0).excluded);
  EXPECT_EQ(open_tree("sim:what", {.clock = clock}).error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace sluice::migrate
