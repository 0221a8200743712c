// SPDX-License-Identifier: MIT
#include "migrate/removal.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "migrate/copy_testing.h"

namespace sluice::migrate::testing {
namespace {

using Names = std::vector<std::string>;

std::string outcome(const Removed& removed) {
  const std::string count = std::to_string(removed.entries);
  if (removed.fault) return count + " " + std::string(why_name(removed.fault->why));
  return count + (removed.reached_max ? " max" : " done");
}

/// `folders` in each folder down to `depth`, and `files` in each. How many entries that is.
std::uint64_t make_tree(const std::string& path, int depth, int folders, int files) {
  std::filesystem::create_directory(path);
  std::uint64_t made = 1;
  for (int n = 0; n < files; ++n, ++made) test::write_file(path + "/f" + std::to_string(n), "x");
  for (int n = 0; n < folders && depth > 0; ++n)
    made += make_tree(path + "/d" + std::to_string(n), depth - 1, folders, files);
  return made;
}

Removed remove(const TwoTrees& trees, const char* name, const RemoveRules& rules = {}) {
  const Known known = trees.dst_known(name);
  return remove_tree(trees.dst.get(), known.entry(), rules);
}

TEST(RemoveEntry, takes_what_is_known_and_nothing_else) {
  const TwoTrees trees;
  trees.write_dst("f", "x");
  std::filesystem::create_symlink("f", trees.dst_path("l"));
  std::filesystem::create_directories(trees.dst_path("d/below"));
  const int dst = trees.dst.get();
  const Known file = trees.dst_known("f");
  EXPECT_EQ(outcome(remove_entry(dst, file.changed([](Entry& entry) { ++entry.size; }))),
            "0 drift_dst");
  EXPECT_EQ(outcome(remove_entry(dst, file.changed([](Entry& entry) { ++entry.mtime_ns; }))),
            "0 drift_dst");
  EXPECT_EQ(outcome(remove_entry(dst, trees.dst_known("d").entry())), "0 in_the_way");
  EXPECT_EQ(names_in(trees.dir / "dst"), (Names{"d", "f", "l"}));
  const Known link = trees.dst_known("l");
  EXPECT_EQ(outcome(remove_entry(dst, link.entry())), "1 done");
  EXPECT_EQ(names_in(trees.dir / "dst"), (Names{"d", "f"}));
  EXPECT_EQ(outcome(remove_entry(dst, file.entry())), "1 done");
  EXPECT_EQ(outcome(remove_entry(dst, file.entry())), "0 done");
  const Known folder = trees.dst_known("d");
  std::filesystem::remove(trees.dst_path("d/below"));
  EXPECT_EQ(outcome(remove_entry(dst, folder.entry())), "1 done");
}

TEST(RemoveTree, takes_all_that_is_in_it_and_follows_no_link) {
  const TwoTrees trees;
  std::uint64_t made = make_tree(trees.dst_path("t"), 3, 4, 10);
  made += make_tree(trees.dst_path("t/wide"), 0, 0, 3000);
  trees.write_src("outside", "x");
  std::filesystem::create_directory_symlink(trees.dir / "src", trees.dst_path("t/d1/link"));
  ASSERT_EQ(mkfifo(trees.dst_path("t/d2/fifo").c_str(), 0600), 0);
  trees.write_dst("other", "x");
  EXPECT_EQ(outcome(remove(trees, "t")), std::to_string(made + 2) + " done");
  EXPECT_EQ(names_in(trees.dir / "dst"), Names{"other"});
  EXPECT_EQ(names_in(trees.dir / "src"), Names{"outside"});
}

TEST(RemoveTree, a_chain_deeper_than_descriptors_and_paths_go) {
  const TwoTrees trees;
  constexpr rlim_t kDescriptors = 64;
  constexpr int kDepth = 1500;
  Descriptor at(dup(trees.dst.get()));
  for (int n = 0; n < kDepth; ++n) {
    ASSERT_EQ(mkdirat(at.get(), "folder", 0700), 0);
    const Descriptor below(openat(at.get(), "folder", O_PATH | O_CLOEXEC));
    // One that is not on the way: levels that were closed have something left to do.
    ASSERT_EQ(mkdirat(below.get(), "aside", 0700), 0);
    at.reset(dup(below.get()));
  }
  EXPECT_EQ(run_apart([&]() -> std::string {
              const rlimit limit{kDescriptors, kDescriptors};
              if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return "no limit";
              return outcome(remove(trees, "folder"));
            }),
            std::to_string(2 * kDepth) + " done");
  EXPECT_EQ(names_in(trees.dir / "dst"), Names{});
}

TEST(RemoveTree, stops_at_the_most_that_may_go) {
  const TwoTrees trees;
  const std::uint64_t made = make_tree(trees.dst_path("t"), 2, 3, 5);
  EXPECT_EQ(outcome(remove(trees, "t", {.max = 0})), "0 max");
  EXPECT_EQ(outcome(remove(trees, "t", {.max = 10})), "10 max");
  EXPECT_EQ(outcome(remove(trees, "t", {.max = made - 11})), std::to_string(made - 11) + " max");
  EXPECT_EQ(names_in(trees.dst_path("t")), Names{});
  EXPECT_EQ(outcome(remove(trees, "t", {.max = 1})), "1 done");
}

TEST(RemoveTree, what_is_kept_stays_with_the_folders_above_it) {
  const TwoTrees trees;
  const std::uint64_t made = make_tree(trees.dst_path("t"), 2, 3, 5);
  std::vector<std::string> asked;
  RemoveRules rules;
  rules.keep = [&](std::string_view path) {
    asked.emplace_back(path);
    return path == "d1/d2/f3" || path == "d0/d1";
  };
  const Removed removed = remove(trees, "t", rules);
  // t, d0, d0/d1 with 5 files, d1, d1/d2 and its file.
  EXPECT_EQ(outcome(removed), std::to_string(made - 11) + " done");
  EXPECT_EQ(removed.kept, 2U);
  EXPECT_EQ(names_in(trees.dst_path("t")), (Names{"d0", "d1"}));
  EXPECT_EQ(names_in(trees.dst_path("t/d0")), Names{"d1"});
  EXPECT_EQ(names_in(trees.dst_path("t/d0/d1")).size(), 5U);
  EXPECT_EQ(names_in(trees.dst_path("t/d1")), Names{"d2"});
  EXPECT_EQ(names_in(trees.dst_path("t/d1/d2")), Names{"f3"});
  for (const std::string& path : asked) EXPECT_FALSE(path.starts_with("d0/d1/")) << path;
}

TEST(RemoveTree, what_is_kept_far_below_is_counted_once) {
  const TwoTrees trees;
  std::string path = trees.dst_path("t");
  std::filesystem::create_directory(path);
  for (int n = 0; n < 100; ++n) {
    test::write_file(path + "/keep", "");
    test::write_file(path + "/go", "");
    path += "/d";
    std::filesystem::create_directory(path);
  }
  const RemoveRules rules{.keep = [](std::string_view name) { return name.ends_with("keep"); }};
  const Removed removed = remove(trees, "t", rules);
  EXPECT_EQ(outcome(removed), "101 done");
  EXPECT_EQ(removed.kept, 100U);
}

TEST(RemoveTree, something_else_at_that_name_is_left_alone) {
  const TwoTrees trees;
  make_tree(trees.dst_path("t"), 0, 0, 1);
  const Known known = trees.dst_known("t");
  std::filesystem::rename(trees.dst_path("t"), trees.dst_path("moved"));
  EXPECT_EQ(outcome(remove_tree(trees.dst.get(), known.entry())), "0 done");
  std::filesystem::create_directory_symlink("moved", trees.dst_path("t"));
  EXPECT_EQ(outcome(remove_tree(trees.dst.get(), known.entry())), "0 drift_dst");
  EXPECT_EQ(names_in(trees.dst_path("moved")), Names{"f0"});
}

TEST(RemoveTree, a_folder_that_becomes_a_link_meanwhile_is_not_followed) {
  const TwoTrees trees;
  make_tree(trees.dst_path("t"), 1, 1, 0);
  trees.write_src("outside", "x");
  RemoveRules rules;
  rules.keep = [&](std::string_view) {
    std::filesystem::remove(trees.dst_path("t/d0"));
    std::filesystem::create_directory_symlink(trees.dir / "src", trees.dst_path("t/d0"));
    return false;
  };
  const Removed removed = remove(trees, "t", rules);
  ASSERT_TRUE(removed.fault);
  EXPECT_EQ(removed.fault->error, ENOTDIR);
  EXPECT_EQ(names_in(trees.dir / "src"), Names{"outside"});
}

TEST(RemoveTree, what_is_mounted_below_is_refused) {
  const TwoTrees trees;
  make_tree(trees.dst_path("t"), 1, 2, 0);
  const std::string said = run_apart([&]() -> std::string {
    std::string why_not = mount_tmpfs(trees.dst_path("t/d0"), "size=1m");
    if (!why_not.empty()) return why_not;
    test::write_file(trees.dst_path("t/d0/precious"), "x");
    // A descriptor from before does not see what is mounted here.
    const Descriptor dst(open((trees.dir / "dst").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const Known known(dst.get(), "t");
    const Removed other_device = remove_tree(dst.get(), known.entry());
    if (mount((trees.dir / "src").c_str(), trees.dst_path("t/d0").c_str(), nullptr, MS_BIND,
              nullptr) != 0)
      return "no bind";
    const Removed same_device = remove_tree(dst.get(), known.entry());
    if (umount(trees.dst_path("t/d0").c_str()) != 0) return "no umount";
    std::string all;
    for (const Removed* removed : {&other_device, &same_device})
      all += std::string(removed->fault ? why_name(removed->fault->why) : "removed") + " ";
    return all + test::read_file(trees.dst_path("t/d0/precious"));
  });
  if (said.starts_with("skip")) GTEST_SKIP() << said;
  EXPECT_EQ(said, "in_the_way in_the_way x");
}

}  // namespace
}  // namespace sluice::migrate::testing
