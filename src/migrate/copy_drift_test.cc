// SPDX-License-Identifier: MIT
// A source or a destination that is not what was compared: it is left alone, at whichever moment
// that shows.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "migrate/copy_file.h"
#include "migrate/copy_testing.h"

namespace sluice::migrate::testing {
namespace {

using Names = std::vector<std::string>;
using test::read_file;

TEST(CopyDrift, a_source_that_is_not_what_was_listed_is_refused) {
  const TwoTrees trees;
  trees.write_src("f", "content");
  const Known known = trees.src_known("f");
  const std::string path = trees.src_path("f");
  const auto expect_drift = [&](const Entry& wanted, const char* what) {
    EXPECT_EQ(outcome(trees.copy(wanted, nullptr, {})), "drift_src") << what;
    EXPECT_EQ(names_in(trees.dir / "dst"), Names{}) << what;
  };
  expect_drift(known.changed([](Entry& entry) { ++entry.size; }), "size");
  expect_drift(known.changed([](Entry& entry) { ++entry.mtime_ns; }), "time");
  std::filesystem::remove(path);
  expect_drift(known.entry(), "gone");
  std::filesystem::create_symlink("/etc/passwd", path);
  expect_drift(known.entry(), "link");
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0644), 0);
  expect_drift(known.entry(), "fifo");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  expect_drift(known.entry(), "folder");
}

TEST(CopyDrift, a_source_that_changes_while_it_is_copied_is_refused) {
  const TwoTrees trees;
  const std::string bytes = random_bytes(5 << 20, 1);
  const std::string path = trees.src_path("f");
  const std::vector<std::pair<const char*, std::function<void()>>> changes = {
      {"grows", [&] { test::write_file(path, bytes + "x"); }},
      {"shrinks", [&] { EXPECT_EQ(truncate(path.c_str(), 100), 0); }},
      {"is written to",
       [&] {
         const Descriptor fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
         EXPECT_EQ(pwrite(fd.get(), "x", 1, 0), 1);
       }},
      {"gets another mode", [&] { EXPECT_EQ(chmod(path.c_str(), 0400), 0); }},
  };
  for (const auto& [what, change] : changes)
    for (const int piece : {1, 3, 5})
      for (CopyRules rules : all_ways()) {
        trees.write_src("f", bytes);
        ASSERT_EQ(chmod(path.c_str(), 0644), 0);
        int calls = 0;
        rules.throttle = [&](std::size_t) {
          if (++calls == piece) change();
        };
        EXPECT_EQ(outcome(trees.copy("f", rules)), "drift_src") << what << " at " << piece;
        EXPECT_EQ(names_in(trees.dir / "dst"), Names{}) << what;
      }
}

TEST(CopyDrift, what_appears_on_the_destination_meanwhile_is_left_alone) {
  const TwoTrees trees;
  for (const std::size_t size : {5UL, 2UL << 20})
    for (CopyRules rules : all_ways()) {
      trees.write_src("f", random_bytes(size, 1));
      rules.throttle = [&](std::size_t) { trees.write_dst("f", "somebody else's"); };
      EXPECT_EQ(outcome(trees.copy("f", rules)), "drift_dst");
      EXPECT_EQ(names_in(trees.dir / "dst"), Names{"f"});
      EXPECT_EQ(read_file(trees.dst_path("f")), "somebody else's");
      // Nor if it is there from the beginning; then nothing large is copied in vain.
      int calls = 0;
      rules.throttle = [&](std::size_t) { ++calls; };
      EXPECT_EQ(outcome(trees.copy("f", rules)), "drift_dst");
      EXPECT_EQ(calls, size < 65536 ? 1 : 0);
      std::filesystem::remove(trees.dst_path("f"));
    }
}

TEST(CopyDrift, what_is_replaced_must_be_what_is_known) {
  const TwoTrees trees;
  trees.write_src("f", "the new one");
  const std::string path = trees.dst_path("f");
  const std::vector<std::pair<const char*, std::function<void()>>> changes = {
      {"size", [&] { test::write_file(path, "another size"); }},
      {"time", [&] { EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), nullptr, 0), 0); }},
      {"gone", [&] { std::filesystem::remove(path); }},
      {"folder",
       [&] {
         std::filesystem::remove(path);
         std::filesystem::create_directory(path);
       }},
      {"link",
       [&] {
         std::filesystem::remove(path);
         std::filesystem::create_symlink("/nowhere", path);
       }},
  };
  for (const auto& [what, change] : changes)
    for (const bool while_copying : {false, true}) {
      std::filesystem::remove_all(path);
      trees.write_dst("f", "old");
      const timespec times[2] = {{1, 1}, {1, 1}};
      ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
      const Known known = trees.dst_known("f");
      const Entry replaced = known.entry();
      const Known wanted = trees.src_known("f");
      CopyRules rules;
      if (while_copying) {
        rules.throttle = [&](std::size_t) { change(); };
      } else {
        change();
      }
      EXPECT_EQ(outcome(trees.copy(wanted.entry(), &replaced, rules)), "drift_dst") << what;
      EXPECT_EQ(names_in(trees.dir / "dst"), what == std::string("gone") ? Names{} : Names{"f"});
    }
}

}  // namespace
}  // namespace sluice::migrate::testing
