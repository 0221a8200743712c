// SPDX-License-Identifier: MIT
// Links, specials, hard links, folders, and attributes of what is there already.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "migrate/copy_file.h"
#include "migrate/copy_testing.h"
#include "migrate/stat_entry.h"
#include "migrate/temp_name.h"

namespace sluice::migrate::testing {
namespace {

using Names = std::vector<std::string>;
using test::read_file;

constexpr timespec kPast[2] = {{1'400'000'000, 7}, {1'300'000'000, 987'654'321}};

void make_old(const std::string& path) {
  EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), kPast, AT_SYMLINK_NOFOLLOW), 0);
}

void expect_like(const std::string& one, const std::string& other) {
  const struct stat a = stat_of(one);
  const struct stat b = stat_of(other);
  EXPECT_EQ(a.st_mode, b.st_mode) << one;
  EXPECT_EQ(a.st_uid, b.st_uid) << one;
  EXPECT_EQ(a.st_gid, b.st_gid) << one;
  EXPECT_EQ(a.st_rdev, b.st_rdev) << one;
  EXPECT_EQ(a.st_mtim.tv_sec, b.st_mtim.tv_sec) << one;
  EXPECT_EQ(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec) << one;
}

TEST(CopyLink, a_link_arrives_with_target_owner_and_time_and_is_never_followed) {
  const TwoTrees trees;
  for (const std::string& target : {std::string("/etc/passwd"), std::string("no such \n thing"),
                                    std::string("\xff\xfe"), std::string(4095, 't')}) {
    std::filesystem::create_symlink(target, trees.src_path("l"));
    ASSERT_EQ(lchown(trees.src_path("l").c_str(), 12, 34), 0);
    make_old(trees.src_path("l"));
    const auto copied = trees.copy("l");
    ASSERT_EQ(outcome(copied), "ok");
    EXPECT_EQ(std::filesystem::read_symlink(trees.dst_path("l")), target);
    expect_like(trees.src_path("l"), trees.dst_path("l"));
    EXPECT_EQ(copied->entry, *look_at(trees.dst.get(), "l"));
    EXPECT_EQ(names_in(trees.dir / "dst"), Names{"l"});
    std::filesystem::remove(trees.src_path("l"));
    std::filesystem::remove(trees.dst_path("l"));
  }
}

TEST(CopyLink, drift_of_either_side_is_refused) {
  const TwoTrees trees;
  std::filesystem::create_symlink("one", trees.src_path("l"));
  make_old(trees.src_path("l"));
  const Known known = trees.src_known("l");
  for (const char* target : {"on", "onee", "two"})
    EXPECT_EQ(outcome(trees.copy(known.changed([&](Entry& entry) { entry.target = target; }),
                                 nullptr, {})),
              "drift_src");
  EXPECT_EQ(outcome(trees.copy(known.changed([](Entry& entry) { ++entry.mtime_ns; }), nullptr, {})),
            "drift_src");
  trees.write_dst("l", "somebody else's");
  EXPECT_EQ(outcome(trees.copy("l")), "drift_dst");
  const Known old = trees.dst_known("l");
  const Entry other = old.changed([](Entry& entry) { ++entry.size; });
  EXPECT_EQ(outcome(trees.copy(known.entry(), &other, {})), "drift_dst");
  EXPECT_EQ(read_file(trees.dst_path("l")), "somebody else's");
  const Entry right = old.entry();
  EXPECT_EQ(outcome(trees.copy(known.entry(), &right, {})), "ok");
  EXPECT_EQ(std::filesystem::read_symlink(trees.dst_path("l")), "one");
  EXPECT_EQ(names_in(trees.dir / "dst"), Names{"l"});
}

TEST(CopySpecial, fifos_sockets_and_devices_arrive) {
  const TwoTrees trees;
  struct Case {
    const char* name;
    mode_t type;
    dev_t device;
  };
  for (const Case& c :
       {Case{"fifo", S_IFIFO, 0}, Case{"socket", S_IFSOCK, 0}, Case{"char", S_IFCHR, makedev(1, 3)},
        Case{"block", S_IFBLK, makedev(7, 300)}}) {
    const std::string path = trees.src_path(c.name);
    if (mknod(path.c_str(), c.type | 0600, c.device) != 0)
      GTEST_SKIP() << "this process may not make devices";
    ASSERT_EQ(chown(path.c_str(), 3, 4), 0);
    ASSERT_EQ(chmod(path.c_str(), 0462), 0);
    make_old(path);
    const auto copied = trees.copy(c.name);
    ASSERT_EQ(outcome(copied), "ok") << c.name;
    expect_like(path, trees.dst_path(c.name));
    EXPECT_EQ(copied->entry, *look_at(trees.dst.get(), c.name));
  }
  const Known device = trees.src_known("char");
  const Entry other = device.changed([](Entry& entry) { ++entry.rdev_minor; });
  EXPECT_EQ(outcome(trees.copy(other, nullptr, {})), "drift_src");
  EXPECT_EQ(outcome(trees.copy("char")), "drift_dst");
  EXPECT_EQ(names_in(trees.dir / "dst").size(), 4U);
}

TEST(CopySpecial, acls_arrive_without_a_look_inside) {
  const TwoTrees trees;
  const std::string acl = acl_with_user(1001);
  ASSERT_EQ(mkfifo(trees.src_path("p").c_str(), 0600), 0);
  if (setxattr(trees.src_path("p").c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) !=
      0)
    GTEST_SKIP() << "this file system has no ACLs";
  ASSERT_EQ(outcome(trees.copy("p")), "ok");
  EXPECT_EQ(xattrs_of(trees.dst_path("p")), xattrs_of(trees.src_path("p")));
  expect_like(trees.src_path("p"), trees.dst_path("p"));
}

CopyResult<Copied> link(const TwoTrees& trees, const Entry& first, const char* name,
                        const Entry* replaced) {
  const Entry wanted{.name = name};
  const std::string temp = temp_name("tag", name);
  return link_to({.dst = trees.dst.get(), .wanted = wanted, .replaced = replaced, .temp = temp},
                 {.folder = trees.dst.get(), .known = first});
}

TEST(LinkTo, two_names_become_one_file) {
  const TwoTrees trees;
  trees.write_dst("a", "content");
  const Known first = trees.dst_known("a");
  const auto copied = link(trees, first.entry(), "b", nullptr);
  ASSERT_EQ(outcome(copied), "ok");
  EXPECT_EQ(stat_of(trees.dst_path("a")).st_ino, stat_of(trees.dst_path("b")).st_ino);
  EXPECT_EQ(copied->entry.inode, stat_of(trees.dst_path("a")).st_ino);
  // Again: nothing to do.
  EXPECT_EQ(outcome(link(trees, first.entry(), "b", nullptr)), "ok");

  trees.write_dst("c", "something else");
  EXPECT_EQ(outcome(link(trees, first.entry(), "c", nullptr)), "drift_dst");
  const Known old = trees.dst_known("c");
  const Entry other = old.changed([](Entry& entry) { ++entry.mtime_ns; });
  EXPECT_EQ(outcome(link(trees, first.entry(), "c", &other)), "drift_dst");
  EXPECT_EQ(read_file(trees.dst_path("c")), "something else");
  const Entry right = old.entry();
  EXPECT_EQ(outcome(link(trees, first.entry(), "c", &right)), "ok");
  EXPECT_EQ(outcome(link(trees, first.entry(), "c", &right)), "ok");
  EXPECT_EQ(stat_of(trees.dst_path("c")).st_nlink, 3U);
  EXPECT_EQ(names_in(trees.dir / "dst"), (Names{"a", "b", "c"}));
}

TEST(LinkTo, the_first_name_must_be_what_is_known) {
  const TwoTrees trees;
  trees.write_dst("a", "content");
  const Known first = trees.dst_known("a");
  const Entry other = first.changed([](Entry& entry) { ++entry.size; });
  EXPECT_EQ(outcome(link(trees, other, "b", nullptr)), "drift_dst");
  std::filesystem::remove(trees.dst_path("a"));
  EXPECT_EQ(outcome(link(trees, first.entry(), "b", nullptr)), "drift_dst");
  EXPECT_EQ(names_in(trees.dir / "dst"), Names{});
}

TEST(MakeFolder, is_made_once_and_for_its_owner_only) {
  const TwoTrees trees;
  const auto first = make_folder(trees.dst.get(), "d");
  ASSERT_EQ(outcome(first), "ok");
  EXPECT_TRUE(*first);
  EXPECT_EQ(stat_of(trees.dst_path("d")).st_mode, static_cast<mode_t>(S_IFDIR | 0700));
  const auto second = make_folder(trees.dst.get(), "d");
  ASSERT_EQ(outcome(second), "ok");
  EXPECT_FALSE(*second);
  trees.write_dst("f", "");
  EXPECT_EQ(outcome(make_folder(trees.dst.get(), "f")), "in_the_way");
  std::filesystem::create_symlink("d", trees.dst_path("l"));
  EXPECT_EQ(outcome(make_folder(trees.dst.get(), "l")), "in_the_way");
  EXPECT_EQ(outcome(make_folder(trees.dst.get(), "a/b")), "io");
}

CopyResult<Copied> set(const TwoTrees& trees, const Entry& wanted, const Entry* replaced = nullptr,
                       const CopyRules& rules = {}) {
  return set_attributes(
      {.src = trees.src.get(), .dst = trees.dst.get(), .wanted = wanted, .replaced = replaced},
      rules);
}

TEST(SetAttributes, folders_files_and_links_become_alike) {
  const TwoTrees trees;
  for (const char* side : {"src", "dst"}) {
    const std::string base = trees.dir / side;
    std::filesystem::create_directory(base + "/d");
    test::write_file(base + "/f", "same");
    std::filesystem::create_symlink("same", base + "/l");
  }
  for (const char* name : {"d", "f", "l"}) {
    const std::string path = trees.src_path(name);
    ASSERT_EQ(lchown(path.c_str(), 21, 22), 0);
    if (*name != 'l') {
      ASSERT_EQ(chmod(path.c_str(), 06751), 0);
    }
    make_old(path);
    const Known wanted = trees.src_known(name);
    const Known known = trees.dst_known(name);
    const Entry replaced = known.entry();
    const auto done = set(trees, wanted.entry(), &replaced);
    ASSERT_EQ(outcome(done), "ok") << name;
    expect_like(path, trees.dst_path(name));
    EXPECT_EQ(done->entry, *look_at(trees.dst.get(), name));
  }
}

TEST(SetAttributes, an_empty_name_means_the_roots) {
  const TwoTrees trees;
  ASSERT_EQ(chown((trees.dir / "src").c_str(), 5, 6), 0);
  ASSERT_EQ(chmod((trees.dir / "src").c_str(), 0751), 0);
  make_old(trees.dir / "src");
  ASSERT_EQ(outcome(set(trees, Entry{.name = "", .kind = Kind::folder})), "ok");
  expect_like(trees.dir / "src", trees.dir / "dst");
}

TEST(SetAttributes, what_the_rules_leave_alone_stays) {
  const TwoTrees trees;
  std::filesystem::create_directory(trees.src_path("d"));
  std::filesystem::create_directory(trees.dst_path("d"));
  ASSERT_EQ(chown(trees.src_path("d").c_str(), 5, 6), 0);
  ASSERT_EQ(chmod(trees.src_path("d").c_str(), 0700), 0);
  ASSERT_EQ(chown(trees.dst_path("d").c_str(), 7, 8), 0);
  ASSERT_EQ(chmod(trees.dst_path("d").c_str(), 01711), 0);
  make_old(trees.src_path("d"));
  const struct stat before = stat_of(trees.dst_path("d"));
  const Known wanted = trees.src_known("d");
  const CopyRules rules{.owners = false, .modes = false, .times = false};
  ASSERT_EQ(outcome(set(trees, wanted.entry(), nullptr, rules)), "ok");
  const struct stat after = stat_of(trees.dst_path("d"));
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
}

TEST(SetAttributes, extended_attributes_and_acls_of_a_folder_become_the_sources) {
  const TwoTrees trees(test::Place::disk);
  const std::string ours = acl_with_user(1001);
  const std::string theirs = acl_with_user(2002);
  for (const auto& [path, acl, note] : {std::tuple{trees.src_path("d"), ours, "user.ours"},
                                        std::tuple{trees.dst_path("d"), theirs, "user.theirs"}}) {
    std::filesystem::create_directory(path);
    for (const char* name : {"system.posix_acl_access", "system.posix_acl_default"})
      if (setxattr(path.c_str(), name, acl.data(), acl.size(), 0) != 0)
        GTEST_SKIP() << "this file system has no ACLs";
    ASSERT_EQ(setxattr(path.c_str(), note, "value", 5, 0), 0);
  }
  const Known wanted = trees.src_known("d");
  const auto done = set(trees, wanted.entry());
  ASSERT_EQ(outcome(done), "ok");
  EXPECT_FALSE(done->lost.any());
  EXPECT_EQ(xattrs_of(trees.dst_path("d")), xattrs_of(trees.src_path("d")));
  expect_like(trees.src_path("d"), trees.dst_path("d"));

  for (const char* name : {"system.posix_acl_access", "system.posix_acl_default", "user.ours"})
    ASSERT_EQ(removexattr(trees.src_path("d").c_str(), name), 0);
  ASSERT_EQ(outcome(set(trees, wanted.entry())), "ok");
  EXPECT_EQ(xattrs_of(trees.dst_path("d")), "");
  expect_like(trees.src_path("d"), trees.dst_path("d"));
}

TEST(SetAttributes, drift_and_other_kinds_are_refused) {
  const TwoTrees trees;
  trees.write_src("f", "content");
  trees.write_dst("f", "content");
  const Known wanted = trees.src_known("f");
  const Known known = trees.dst_known("f");
  const Entry other = known.changed([](Entry& entry) { ++entry.size; });
  EXPECT_EQ(outcome(set(trees, wanted.entry(), &other)), "drift_dst");
  EXPECT_EQ(outcome(set(trees, wanted.changed([](Entry& entry) { ++entry.size; }))), "drift_src");
  std::filesystem::remove(trees.dst_path("f"));
  EXPECT_EQ(outcome(set(trees, wanted.entry())), "drift_dst");
  std::filesystem::create_symlink("/etc/passwd", trees.dst_path("f"));
  EXPECT_EQ(outcome(set(trees, wanted.entry())), "in_the_way");
  std::filesystem::remove(trees.src_path("f"));
  EXPECT_EQ(outcome(set(trees, wanted.entry())), "drift_src");
}

}  // namespace
}  // namespace sluice::migrate::testing
