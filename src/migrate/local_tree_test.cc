// SPDX-License-Identifier: MIT
#include "migrate/local_tree.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <limits>
#include <thread>

#include "base/descriptor.h"
#include "migrate/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::migrate {
namespace {

using test::TempDir;
using testing::in_child;
using testing::list_all;
using testing::Listed;
namespace fs = std::filesystem;

std::unique_ptr<Tree> tree_at(const TempDir& dir, LocalTreeOptions options = {}) {
  options.root = dir.path();
  return open_local_tree(options).value();
}

void set_time(const std::string& path, timespec time) {
  const std::array<timespec, 2> times{time, time};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW), 0);
}

struct stat stat_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info;
}

/// So that the next change of the directory is seen, whatever the steps of the clock.
void make_old(const std::string& path) {
  set_time(path, {.tv_sec = 1'000'000'000, .tv_nsec = 0});
}

std::string four_digits(int number) {
  return std::to_string(10'000 + number).substr(1);
}

TEST(LocalTree, a_file_is_described_by_what_statx_says_of_it) {
  const TempDir dir;
  test::write_file(dir / "file", "twelve bytes");
  ASSERT_EQ(::chmod((dir / "file").c_str(), 04751), 0);
  set_time(dir / "file", {.tv_sec = 1'600'000'000, .tv_nsec = 123'456'789});
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_TRUE(listed.fault.ok());
  ASSERT_EQ(listed.all.size(), 1u);
  const Entry expected{.name = "file",
                       .kind = Kind::file,
                       .mode = 04751,
                       .uid = ::getuid(),
                       .gid = stat_of(dir / "file").st_gid,
                       .size = 12,
                       .mtime_ns = 1'600'000'000'123'456'789};
  EXPECT_EQ(listed.all.at(0), expected);
}

TEST(LocalTree, owner_and_group_are_those_of_the_file) {
  const TempDir dir;
  test::write_file(dir / "file", "");
  if (::lchown((dir / "file").c_str(), 12, 34) != 0) GTEST_SKIP() << "only root gives files away";
  const Entry entry = list_all(*tree_at(dir), "").at("file");
  EXPECT_EQ(entry.uid, 12u);
  EXPECT_EQ(entry.gid, 34u);
}

TEST(LocalTree, every_kind_is_told_from_the_others) {
  const TempDir dir;
  test::write_file(dir / "file", "");
  fs::create_directory(dir / "folder");
  fs::create_symlink("nowhere", dir / "link");
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (dir / "socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_TRUE(listed.fault.ok());
  EXPECT_EQ(listed.all.size(), 5u);
  EXPECT_EQ(listed.at("file").kind, Kind::file);
  EXPECT_EQ(listed.at("folder").kind, Kind::folder);
  EXPECT_EQ(listed.at("link").kind, Kind::link);
  EXPECT_EQ(listed.at("link").target, "nowhere");
  EXPECT_EQ(listed.at("fifo").kind, Kind::fifo);
  EXPECT_EQ(listed.at("socket").kind, Kind::socket);
}

TEST(LocalTree, a_device_has_its_numbers) {
  const auto tree = open_local_tree({.root = "/dev"}).value();
  const Listed listed = list_all(*tree, "");
  EXPECT_EQ(listed.at("null").kind, Kind::char_device);
  EXPECT_EQ(listed.at("null").rdev_major, 1u);
  EXPECT_EQ(listed.at("null").rdev_minor, 3u);
}

TEST(LocalTree, a_block_device_has_its_numbers) {
  const TempDir dir;
  if (::mknod((dir / "disk").c_str(), S_IFBLK | 0600, makedev(259, 70'000)) != 0)
    GTEST_SKIP() << "only root makes devices";
  const Entry entry = list_all(*tree_at(dir), "").at("disk");
  EXPECT_EQ(entry.kind, Kind::block_device);
  EXPECT_EQ(entry.rdev_major, 259u);
  EXPECT_EQ(entry.rdev_minor, 70'000u);
}

TEST(LocalTree, the_size_of_a_folder_or_a_link_is_no_size) {
  const TempDir dir;
  fs::create_directory(dir / "folder");
  for (int number = 0; number < 50; ++number)
    test::write_file(dir / ("folder/" + std::to_string(number)), "");
  fs::create_symlink("target", dir / "link");
  ASSERT_NE(stat_of(dir / "folder").st_size, 0);
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_EQ(listed.at("folder").size, 0u);
  EXPECT_EQ(listed.at("link").size, 0u);
}

TEST(LocalTree, a_sparse_file_is_as_large_as_it_says) {
  const TempDir dir;
  test::write_file(dir / "sparse", "");
  const std::uint64_t size = std::uint64_t{5} << 40;
  fs::resize_file(dir / "sparse", size);
  EXPECT_EQ(list_all(*tree_at(dir), "").at("sparse").size, size);
}

TEST(LocalTree, times_before_1970_are_negative) {
  const TempDir dir;
  test::write_file(dir / "old", "");
  set_time(dir / "old", {.tv_sec = -86'401, .tv_nsec = 250'000'000});
  EXPECT_EQ(list_all(*tree_at(dir), "").at("old").mtime_ns, -86'400'750'000'000);
}

TEST(LocalTree, times_that_nanoseconds_cannot_say_are_the_nearest) {
  const TempDir dir;
  test::write_file(dir / "late", "");
  set_time(dir / "late", {.tv_sec = 10'000'000'000, .tv_nsec = 0});
  if (stat_of(dir / "late").st_mtim.tv_sec != 10'000'000'000) GTEST_SKIP() << "not kept here";
  EXPECT_EQ(list_all(*tree_at(dir), "").at("late").mtime_ns,
            std::numeric_limits<std::int64_t>::max());
}

TEST(LocalTree, names_of_one_file_share_their_numbers_and_others_have_none) {
  const TempDir dir;
  test::write_file(dir / "a", "");
  fs::create_hard_link(dir / "a", dir / "b");
  test::write_file(dir / "c", "");
  test::write_file(dir / "d", "");
  fs::create_hard_link(dir / "d", dir / "e");
  fs::create_directory(dir / "folder");
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_EQ(listed.at("a").inode, stat_of(dir / "a").st_ino);
  EXPECT_EQ(listed.at("a").device, stat_of(dir / "a").st_dev);
  EXPECT_EQ(listed.at("b").inode, listed.at("a").inode);
  EXPECT_EQ(listed.at("b").device, listed.at("a").device);
  EXPECT_EQ(listed.at("e").inode, stat_of(dir / "d").st_ino);
  for (const char* name : {"c", "folder"}) {
    EXPECT_EQ(listed.at(name).inode, 0u) << name;
    EXPECT_EQ(listed.at(name).device, 0u) << name;
  }
}

TEST(LocalTree, the_longest_target_is_read) {
  const TempDir dir;
  const std::string target(4095, 't');
  if (::symlink(target.c_str(), (dir / "link").c_str()) != 0) GTEST_SKIP() << "too long here";
  ASSERT_EQ(::symlink("\xff\x01 raw", (dir / "raw").c_str()), 0);
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_EQ(listed.at("link").target, target);
  EXPECT_EQ(listed.at("raw").target, "\xff\x01 raw");
}

TEST(LocalTree, many_long_targets_end_a_page_early) {
  const TempDir dir;
  const std::string target(4000, 't');
  for (int number = 0; number < 3'000; ++number)
    fs::create_symlink(target, dir / four_digits(number));
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_EQ(listed.all.size(), 3'000u);
  EXPECT_GT(listed.pages, 2u);
  EXPECT_LT(listed.page_bytes_max, 5u * 1024 * 1024);
}

TEST(LocalTree, a_name_may_have_every_byte_but_two) {
  const TempDir dir;
  int names = 0;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte == '/') continue;
    // Alone and at the end, so that no byte is taken for the end, or for "." or "..".
    const std::string odd(1, static_cast<char>(byte));
    for (const std::string& name : {"n" + odd, "." + odd}) {
      if (name == "..") continue;
      test::write_file(dir / name, "x");
      ++names;
    }
  }
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_TRUE(listed.fault.ok());
  EXPECT_EQ(listed.all.size(), static_cast<std::size_t>(names));
  for (std::size_t index = 0; index < listed.all.size(); ++index) {
    const Entry entry = listed.all.at(index);
    EXPECT_EQ(entry.name.size(), 2u);
    EXPECT_EQ(entry.size, 1u);
    struct stat info{};
    EXPECT_EQ(::lstat((dir / std::string(entry.name)).c_str(), &info), 0);
  }
}

TEST(LocalTree, names_of_255_bytes_are_listed_and_opened) {
  const TempDir dir;
  const std::string name(255, 'n');
  fs::create_directory(dir / name);
  test::write_file(dir / (name + "/inner"), "");
  const auto tree = tree_at(dir);
  EXPECT_EQ(list_all(*tree, "").at(name).kind, Kind::folder);
  EXPECT_EQ(list_all(*tree, name).at("inner").kind, Kind::file);
  EXPECT_EQ(list_all(*tree, name + "n").fault.error, ENAMETOOLONG);
}

TEST(LocalTree, of_an_empty_directory_there_is_no_page) {
  const TempDir dir;
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_TRUE(listed.fault.ok());
  EXPECT_EQ(listed.pages, 0u);
}

TEST(LocalTree, many_names_come_in_pages_of_bounded_size) {
  const TempDir dir;
  const Descriptor folder(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr int kNames = 100'000;
  for (int number = 0; number < kNames; ++number) {
    const std::string name = "name-" + std::to_string(number);
    ASSERT_EQ(::mknodat(folder.get(), name.c_str(), S_IFREG | 0600, 0), 0);
  }
  const Listed listed = list_all(*tree_at(dir), "");
  EXPECT_TRUE(listed.fault.ok());
  ASSERT_EQ(listed.all.size(), static_cast<std::size_t>(kNames));
  for (std::size_t index = 1; index < listed.all.size(); ++index)
    ASSERT_LT(listed.all.at(index - 1).name, listed.all.at(index).name);
  EXPECT_EQ(listed.page_entries_max, kPageEntries);
  EXPECT_EQ(listed.pages, (kNames + kPageEntries - 1) / kPageEntries);
  EXPECT_LT(listed.page_bytes_max, 2u * 1024 * 1024);
}

TEST(LocalTree, the_sink_ends_a_listing) {
  const TempDir dir;
  for (int number = 0; number < 9'000; ++number) test::write_file(dir / four_digits(number), "");
  Listing scratch;
  int pages = 0;
  const Fault fault = tree_at(dir)->list("", {}, scratch, [&](Listing&) { return ++pages > 1; });
  EXPECT_TRUE(fault.ok());
  EXPECT_EQ(pages, 1);
}

TEST(LocalTree, a_sink_may_list_another_directory) {
  const TempDir dir;
  fs::create_directory(dir / "wide");
  fs::create_directory(dir / "other");
  for (int number = 0; number < 9'000; ++number)
    test::write_file(dir / ("wide/" + four_digits(number)), "");
  for (int number = 0; number < 5'000; ++number)
    test::write_file(dir / ("other/x" + four_digits(number)), "");
  const auto tree = tree_at(dir);
  const Listed listed = list_all(
      *tree, "wide", [&](std::size_t) { EXPECT_EQ(list_all(*tree, "other").all.size(), 5'000u); });
  EXPECT_EQ(listed.all.size(), 9'000u);
  EXPECT_TRUE(listed.fault.ok());
  for (int number = 0; number < 9'000; ++number)
    ASSERT_EQ(listed.all.at(static_cast<std::size_t>(number)).name, four_digits(number));
}

/// Makes folders of 200 bytes in each other, and a file in the last. Returns their path.
std::string make_chain(const TempDir& dir, int depth) {
  Descriptor at(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::string path;
  for (int level = 0; level < depth; ++level) {
    const std::string name = four_digits(level) + std::string(196, 'c');
    EXPECT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    at.reset(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    path += (path.empty() ? "" : "/") + name;
  }
  const Descriptor last(::openat(at.get(), "last", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(::write(last.get(), "deep", 4), 4);
  return path;
}

TEST(LocalTree, a_path_may_be_far_longer_than_the_kernel_takes_at_once) {
  const TempDir dir;
  const std::string path = make_chain(dir, 300);
  const auto tree = tree_at(dir);
  // Every length, so that pieces end everywhere.
  for (std::size_t size = 200; size <= path.size(); size += 201) {
    const Listed listed = list_all(*tree, std::string_view(path).substr(0, size));
    ASSERT_TRUE(listed.fault.ok()) << size;
    ASSERT_EQ(listed.all.size(), 1u);
  }
  const Entry last = list_all(*tree, path).at("last");
  EXPECT_EQ(last.size, 4u);
  Hash hash{};
  EXPECT_TRUE(tree->hash(path, list_all(*tree, path).at("last"), hash).ok());
  EXPECT_EQ(list_all(*tree, path + "/none").fault.error, ENOENT);
}

TEST(LocalTree, no_path_leads_over_a_link_or_out_of_the_root) {
  const TempDir outside;
  fs::create_directory(outside / "in");
  test::write_file(outside / "in/file", "secret");
  const TempDir dir;
  fs::create_directory(dir / "folder");
  fs::create_symlink(outside.path(), dir / "away");
  fs::create_symlink("folder", dir / "near");
  test::write_file(dir / "file", "");
  const auto tree = tree_at(dir);
  for (const char* path : {"away", "away/in", "near", "near/none"}) {
    const int error = list_all(*tree, path).fault.error;
    EXPECT_TRUE(error == ELOOP || error == ENOTDIR) << path << " " << error;
  }
  for (const char* path :
       {"..", "../x", "folder/..", ".", "folder/.", "/", "/tmp", "folder/", "folder//x"})
    EXPECT_EQ(list_all(*tree, path).fault.error, EINVAL) << path;
  EXPECT_EQ(list_all(*tree, "file").fault.error, ENOTDIR);
  EXPECT_EQ(list_all(*tree, "none").fault.error, ENOENT);
  Hash hash{};
  EXPECT_FALSE(tree->hash("away/in", {.name = "file", .size = 6}, hash).ok());
  EXPECT_EQ(tree->hash("", {.name = "../file"}, hash).error, EINVAL);
  EXPECT_TRUE(list_all(*tree, "folder").fault.ok());
}

TEST(LocalTree, a_root_stays_the_directory_it_was) {
  const TempDir dir;
  fs::create_directories(dir / "root/folder");
  const auto tree = open_local_tree({.root = dir / "root"}).value();
  fs::rename(dir / "root", dir / "moved");
  fs::create_directory(dir / "root");
  EXPECT_EQ(list_all(*tree, "").at("folder").kind, Kind::folder);
  EXPECT_EQ(tree->name(), fs::canonical(dir.path()).string() + "/root");
}

TEST(LocalTree, its_name_is_the_same_however_it_is_spelled) {
  const TempDir dir;
  fs::create_directory(dir / "root");
  fs::create_symlink("root", dir / "link");
  const std::string name = open_local_tree({.root = dir / "root"}).value()->name();
  EXPECT_EQ(name, fs::canonical(dir / "root").string());
  EXPECT_EQ(open_local_tree({.root = dir / "link/"}).value()->name(), name);
  EXPECT_EQ(open_local_tree({.root = dir / "root/../root//"}).value()->name(), name);
}

TEST(LocalTree, what_is_no_directory_cannot_be_opened) {
  const TempDir dir;
  test::write_file(dir / "file", "");
  fs::create_symlink("loop", dir / "loop");
  const auto code_of = [](const std::string& root) {
    return open_local_tree({.root = root}).error().code();
  };
  EXPECT_EQ(code_of(dir / "none"), Code::not_found);
  EXPECT_EQ(code_of(dir / "file"), Code::invalid_argument);
  EXPECT_EQ(code_of(dir / "loop"), Code::invalid_argument);
  EXPECT_EQ(code_of(""), Code::invalid_argument);
}

TEST(LocalTree, the_root_is_described_without_a_name) {
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 01751), 0);
  make_old(dir.path());
  Listing one;
  EXPECT_TRUE(tree_at(dir)->stat_root(one).ok());
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one.at(0).name, "");
  EXPECT_EQ(one.at(0).kind, Kind::folder);
  EXPECT_EQ(one.at(0).mode, 01751u);
  EXPECT_EQ(one.at(0).mtime_ns, 1'000'000'000'000'000'000);
}

}  // namespace
}  // namespace sluice::migrate
