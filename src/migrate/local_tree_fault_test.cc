// SPDX-License-Identifier: MIT
// What a local tree says of directories that cannot be read, that change meanwhile, or that are
// mounted.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <thread>

#include "migrate/local_tree.h"
#include "migrate/testing.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::migrate {
namespace {

using test::TempDir;
using testing::in_child;
using testing::list_all;
using testing::Listed;
namespace fs = std::filesystem;

std::unique_ptr<Tree> tree_at(const std::string& root) {
  return open_local_tree({.root = root}).value();
}

std::string spelled(const Fault& fault) {
  return fault.detail + " " + errno_name(fault.error) + (fault.changed ? " changed" : "");
}

/// Makes this process nobody's, if it is root's: root may read everything.
void become_nobody() {
  if (::geteuid() != 0) return;
  if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
}

/// Mounts of its own for this process; false if it may not have them.
bool own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

void make_old(const std::string& path) {
  const std::array<timespec, 2> times{timespec{.tv_sec = 1'000'000'000, .tv_nsec = 0},
                                      timespec{.tv_sec = 1'000'000'000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
}

std::string five_digits(int number) {
  return std::to_string(100'000 + number).substr(1);
}

/// More than a page has, and more than are read from the directory at once.
constexpr int kTwoPages = 12'000;

void make_names(const TempDir& dir) {
  for (int number = 0; number < kTwoPages; ++number)
    test::write_file(dir / five_digits(number), "");
  make_old(dir.path());
}

TEST(LocalTreeFault, a_directory_that_may_not_be_read_is_a_fault) {
  const TempDir dir;
  fs::create_directory(dir / "closed");
  ASSERT_EQ(::chmod((dir / "closed").c_str(), 0300), 0);
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  const auto tree = tree_at(dir.path());
  EXPECT_EQ(in_child([&] {
              become_nobody();
              return spelled(list_all(*tree, "closed").fault);
            }),
            "open EACCES");
}

TEST(LocalTreeFault, names_whose_attributes_may_not_be_read_carry_the_error) {
  const TempDir dir;
  fs::create_directory(dir / "names");
  test::write_file(dir / "names/file", "content");
  fs::create_symlink("target", dir / "names/link");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((dir / "names").c_str(), 0444), 0);
  const auto tree = tree_at(dir.path());
  const std::string answer = in_child([&] {
    become_nobody();
    const Listed listed = list_all(*tree, "names");
    std::string text = spelled(listed.fault);
    for (const char* name : {"file", "link"})
      text += listed.at(name) == Entry{.name = name, .error = EACCES} ? " as expected" : " wrong";
    return text;
  });
  if (::geteuid() == 0) {
    EXPECT_EQ(answer, " errno 0 as expected as expected");
  }
  ASSERT_EQ(::chmod((dir / "names").c_str(), 0755), 0);
}

TEST(LocalTreeFault, too_many_open_files_are_a_fault) {
  const TempDir dir;
  const auto tree = tree_at(dir.path());
  EXPECT_EQ(in_child([&] {
              const rlimit none{.rlim_cur = 0, .rlim_max = 0};
              if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return std::string("cannot");
              return spelled(list_all(*tree, "").fault);
            }),
            "open EMFILE");
}

TEST(LocalTreeFault, a_directory_that_is_left_alone_has_not_changed) {
  const TempDir dir;
  make_names(dir);
  const auto tree = tree_at(dir.path());
  EXPECT_TRUE(list_all(*tree, "").fault.ok());
  EXPECT_TRUE(list_all(*tree, "").fault.ok());
}

TEST(LocalTreeFault, a_name_that_comes_while_the_directory_is_read_means_it_changed) {
  const TempDir dir;
  make_names(dir);
  const auto tree = tree_at(dir.path());
  const Listed listed = list_all(*tree, "", [&](std::size_t page) {
    if (page != 1) return;
    std::jthread([&] { test::write_file(dir / "new", ""); }).join();
  });
  EXPECT_EQ(spelled(listed.fault), "getdents64 errno 0 changed");
  EXPECT_TRUE(list_all(*tree, "").fault.ok());
}

/// A directory "names" and when its parent's listing saw it change last.
struct SeenFolder {
  explicit SeenFolder(int names) {
    fs::create_directory(dir / "names");
    for (int number = 0; number < names; ++number)
      test::write_file(dir / ("names/" + five_digits(number)), "");
    seen = stamp_of(list_all(*tree, "").at("names"));
  }
  /// Adds names until the clock has made its next step, and returns how many.
  int change() const {
    int added = 0;
    do test::write_file(dir / ("names/new" + std::to_string(added++)), "");
    while (stamp_of(list_all(*tree, "").at("names")) == seen);
    return added;
  }
  Listed list(const std::function<void(std::size_t)>& between = nullptr) const {
    return list_all(*tree, "names", between, seen);
  }

  TempDir dir;
  std::unique_ptr<Tree> tree = tree_at(dir.path());
  FolderStamp seen;
};

TEST(LocalTreeFault, a_directory_that_is_as_its_parent_saw_it_has_not_changed) {
  for (const int names : {0, 3, kTwoPages}) {
    const SeenFolder folder(names);
    EXPECT_TRUE(folder.seen.known());
    const Listed listed = folder.list();
    EXPECT_EQ(spelled(listed.fault), " errno 0");
    EXPECT_EQ(listed.all.size(), static_cast<std::size_t>(names));
  }
}

TEST(LocalTreeFault, one_that_changed_since_its_parent_was_listed_is_read_as_it_is_now) {
  for (const int names : {0, 3, kTwoPages}) {
    const SeenFolder folder(names);
    const int more = folder.change();
    const Listed listed = folder.list();
    EXPECT_EQ(spelled(listed.fault), " errno 0");
    // Each once, although the directory was read from its beginning again.
    EXPECT_EQ(listed.all.size(), static_cast<std::size_t>(names + more));
  }
}

TEST(LocalTreeFault, one_that_changes_after_it_was_found_as_its_parent_saw_it_has_changed) {
  const SeenFolder folder(kTwoPages);
  const Listed listed = folder.list([&](std::size_t page) {
    if (page == 1) folder.change();
  });
  EXPECT_EQ(spelled(listed.fault), "getdents64 errno 0 changed");
}

/// One page, which nobody sees before it is whole, but more than is read from the directory at
/// once.
TEST(LocalTreeFault, a_move_while_one_page_is_read_is_noticed) {
  SeenFolder folder(0);
  constexpr int kNames = 6'000;
  for (int number = 0; number < kNames; ++number)
    test::write_file(folder.dir / ("names/" + std::string(40, 'x') + five_digits(number)), "");
  test::write_file(folder.dir / "names/here", "");
  std::atomic<int> moves = 0;
  const std::jthread mover([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++moves) {
      test::pause(std::chrono::milliseconds(20));  // The next step of a coarse clock.
      const bool back = moves % 2 != 0;
      fs::rename(folder.dir / (back ? "names/there" : "names/here"),
                 folder.dir / (back ? "names/here" : "names/there"));
    }
  });
  for (int noticed = 0; noticed < 3;) {
    ASSERT_LT(moves, 3'000);
    folder.seen = stamp_of(list_all(*folder.tree, "").at("names"));
    const Listed listed = folder.list();
    ASSERT_EQ(listed.fault.error, 0);
    noticed += listed.fault.changed ? 1 : 0;
    if (listed.fault.changed) continue;
    EXPECT_EQ(listed.all.size(), static_cast<std::size_t>(kNames) + 1);
    EXPECT_NE(listed.find("here").has_value(), listed.find("there").has_value());
  }
}

TEST(LocalTreeFault, a_change_whose_mtime_was_put_back_is_seen) {
  const TempDir dir;
  make_names(dir);
  const auto tree = tree_at(dir.path());
  struct stat before{};
  ASSERT_EQ(::stat(dir.path().c_str(), &before), 0);
  const Listed listed = list_all(*tree, "", [&](std::size_t page) {
    if (page != 1) return;
    test::write_file(dir / "new", "");
    // Until the clock has made its next step.
    for (struct stat now = before; now.st_ctim.tv_nsec == before.st_ctim.tv_nsec;) {
      make_old(dir.path());
      ASSERT_EQ(::stat(dir.path().c_str(), &now), 0);
    }
  });
  EXPECT_EQ(spelled(listed.fault), "getdents64 errno 0 changed");
  ASSERT_EQ(::stat(dir.path().c_str(), &before), 0);
  EXPECT_EQ(before.st_mtim.tv_sec, 1'000'000'000);
}

TEST(LocalTreeFault, names_that_vanish_while_the_directory_is_read_mean_it_changed) {
  const TempDir dir;
  make_names(dir);
  const Listed listed = list_all(*tree_at(dir.path()), "", [&](std::size_t page) {
    if (page != 1) return;
    std::jthread([&] {
      for (int number = 0; number < kTwoPages; ++number) fs::remove(dir / five_digits(number));
    }).join();
  });
  EXPECT_EQ(spelled(listed.fault), "statx of a name that had vanished errno 0 changed");
  EXPECT_LT(listed.all.size(), static_cast<std::size_t>(kTwoPages));
  for (std::size_t index = 0; index < listed.all.size(); ++index)
    EXPECT_EQ(listed.all.at(index).error, 0u);
}

TEST(LocalTreeFault, many_threads_list_one_tree) {
  const TempDir dir;
  make_names(dir);
  fs::create_directory(dir / "folder");
  const auto tree = tree_at(dir.path());
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      const Listed listed = list_all(*tree, "");
      EXPECT_TRUE(listed.fault.ok());
      EXPECT_EQ(listed.all.size(), static_cast<std::size_t>(kTwoPages) + 1);
      EXPECT_TRUE(list_all(*tree, "folder").fault.ok());
    });
}

TEST(LocalTreeFault, the_root_once_more_is_a_loop) {
  const TempDir dir;
  fs::create_directories(dir / "folder/again");
  fs::create_directories(dir / "folder/plain");
  const std::string answer = in_child([&]() -> std::string {
    if (!own_mounts()) return "cannot";
    const std::string again = dir / "folder/again";
    if (::mount(dir.path().c_str(), again.c_str(), nullptr, MS_BIND, nullptr) != 0) return "cannot";
    const Listed listed = list_all(*tree_at(dir.path()), "folder");
    const Entry loop{.name = "again", .kind = Kind::folder, .error = ELOOP};
    return listed.at("again") == loop && listed.at("plain").error == 0 ? "loop" : "no loop";
  });
  if (answer == "cannot") GTEST_SKIP() << "mounts are not allowed here";
  EXPECT_EQ(answer, "loop");
}

TEST(LocalTreeFault, folders_on_another_device_are_excluded_if_asked) {
  const TempDir dir;
  fs::create_directory(dir / "mounted");
  fs::create_directory(dir / "plain");
  test::write_file(dir / "file", "");
  const std::string answer = in_child([&]() -> std::string {
    if (!own_mounts()) return "cannot";
    const std::string mounted = dir / "mounted";
    if (::mount("none", mounted.c_str(), "tmpfs", 0, nullptr) != 0) return "cannot";
    std::string excluded;
    for (const bool one : {true, false}) {
      const auto tree = open_local_tree({.root = dir.path(), .one_file_system = one}).value();
      const Listed listed = list_all(*tree, "");
      for (const char* name : {"mounted", "plain", "file"})
        if (listed.at(name).excluded) excluded += name;
      if (listed.at("mounted").kind != Kind::folder) excluded += " no folder";
      excluded += ";";
    }
    return excluded;
  });
  if (answer == "cannot") GTEST_SKIP() << "mounts are not allowed here";
  EXPECT_EQ(answer, "mounted;;");
}

}  // namespace
}  // namespace sluice::migrate
