// SPDX-License-Identifier: MIT
#include "migrate/copy_file.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "migrate/content_hash.h"
#include "migrate/copy_testing.h"
#include "migrate/stat_entry.h"
#include "migrate/temp_name.h"

namespace sluice::migrate::testing {
namespace {

using Names = std::vector<std::string>;
using test::read_file;

Hash hash_of(const std::string& bytes) {
  ContentHash hash;
  hash.add(bytes.data(), bytes.size());
  return hash.finish();
}

void expect_like(const TwoTrees& trees, const std::string& name) {
  const struct stat a = stat_of(trees.src_path(name));
  const struct stat b = stat_of(trees.dst_path(name));
  EXPECT_EQ(a.st_mode, b.st_mode) << name;
  EXPECT_EQ(a.st_uid, b.st_uid) << name;
  EXPECT_EQ(a.st_gid, b.st_gid) << name;
  EXPECT_EQ(a.st_size, b.st_size) << name;
  EXPECT_EQ(a.st_mtim.tv_sec, b.st_mtim.tv_sec) << name;
  EXPECT_EQ(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec) << name;
  EXPECT_EQ(read_file(trees.src_path(name)), read_file(trees.dst_path(name))) << name;
}

TEST(CopyFile, content_and_metadata_arrive_whatever_the_size_and_the_way) {
  const TwoTrees trees;
  constexpr std::size_t kMiB = 1 << 20;
  for (const std::size_t size :
       {0UL, 1UL, 4095UL, 65535UL, 65536UL, kMiB - 1, kMiB + 1, 3 * kMiB + 7}) {
    const std::string bytes = random_bytes(size, size);
    for (const CopyRules& rules : all_ways()) {
      trees.write_src("f", bytes);
      const auto copied = trees.copy("f", rules);
      ASSERT_EQ(outcome(copied), "ok") << size;
      expect_like(trees, "f");
      EXPECT_EQ(copied->bytes, size);
      EXPECT_EQ(copied->hash, rules.verify ? std::optional(hash_of(bytes)) : std::nullopt);
      EXPECT_EQ(copied->entry, *look_at(trees.dst.get(), "f"));
      EXPECT_EQ(names_in(trees.dir / "dst"), Names{"f"});
      std::filesystem::remove(trees.dst_path("f"));
    }
  }
}

TEST(CopyFile, modes_and_owners_arrive_also_under_a_strict_umask_and_in_a_group_folder) {
  const TwoTrees trees;
  ASSERT_EQ(chown((trees.dir / "dst").c_str(), 0, 77), 0);
  ASSERT_EQ(chmod((trees.dir / "dst").c_str(), 02755), 0);
  const mode_t umask_before = umask(077);
  for (const uid_t owner : {0U, 1234U})
    for (const mode_t mode : {0U, 0600U, 0644U, 0777U, 04755U, 02755U, 06711U, 01777U, 0170U}) {
      trees.write_src("f", "x");
      ASSERT_EQ(chown(trees.src_path("f").c_str(), owner, owner * 2), 0);
      ASSERT_EQ(chmod(trees.src_path("f").c_str(), mode), 0);
      const auto copied = trees.copy("f");
      ASSERT_EQ(outcome(copied), "ok");
      expect_like(trees, "f");
      EXPECT_EQ(copied->entry.mode, mode);
      EXPECT_FALSE(copied->lost.any());
      std::filesystem::remove(trees.dst_path("f"));
    }
  umask(umask_before);
}

TEST(CopyFile, without_owners_and_modes_what_is_replaced_keeps_its_own) {
  const TwoTrees trees;
  trees.write_src("f", "new");
  ASSERT_EQ(chown(trees.src_path("f").c_str(), 5, 6), 0);
  ASSERT_EQ(chmod(trees.src_path("f").c_str(), 0666), 0);
  const CopyRules rules{.owners = false, .modes = false};
  ASSERT_EQ(outcome(trees.copy("f", rules)), "ok");
  const mode_t mask = umask(022);
  umask(mask);
  EXPECT_EQ(stat_of(trees.dst_path("f")).st_mode & 07777, 0666 & ~mask);
  EXPECT_EQ(stat_of(trees.dst_path("f")).st_uid, geteuid());

  ASSERT_EQ(chown(trees.dst_path("f").c_str(), 8, 9), 0);
  ASSERT_EQ(chmod(trees.dst_path("f").c_str(), 0421), 0);
  const Known replaced = trees.dst_known("f");
  const Entry old = replaced.entry();
  const Known wanted = trees.src_known("f");
  ASSERT_EQ(outcome(trees.copy(wanted.entry(), &old, rules)), "ok");
  EXPECT_EQ(stat_of(trees.dst_path("f")).st_mode & 07777, 0421U);
  EXPECT_EQ(stat_of(trees.dst_path("f")).st_uid, 8U);
  EXPECT_EQ(stat_of(trees.dst_path("f")).st_gid, 9U);
}

TEST(CopyFile, who_may_not_give_files_away_loses_the_owner_and_the_set_id_bits_only) {
  const TwoTrees trees;
  trees.write_src("f", "x");
  ASSERT_EQ(chmod(trees.src_path("f").c_str(), 06755), 0);
  ASSERT_EQ(chmod((trees.dir / "dst").c_str(), 0777), 0);
  EXPECT_EQ(run_apart([&]() -> std::string {
              if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
                return "no other user";
              const auto copied = trees.copy("f");
              if (!copied) return outcome(copied);
              return copied->lost == Lost{.owner = true} ? "lost the owner" : "lost something else";
            }),
            "lost the owner");
  EXPECT_EQ(stat_of(trees.dst_path("f")).st_mode & 07777, 0755U);
  EXPECT_EQ(read_file(trees.dst_path("f")), "x");
}

struct Island {
  off_t at;
  std::size_t bytes;
};

/// A file of 8 MiB on the source that is a hole but for the islands.
void write_islands(const TwoTrees& trees, const std::vector<Island>& islands) {
  trees.write_src("f", "");
  const Descriptor fd(open(trees.src_path("f").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(ftruncate(fd.get(), 8 << 20), 0);
  for (const Island& island : islands) {
    const std::string bytes = random_bytes(island.bytes, 1);
    ASSERT_EQ(pwrite(fd.get(), bytes.data(), bytes.size(), island.at),
              static_cast<ssize_t>(bytes.size()));
  }
  fsync(fd.get());
}

TEST(CopyFile, holes_stay_holes) {
  constexpr off_t kMiB = 1 << 20;
  const std::vector<std::vector<Island>> layouts = {
      {},                     // Nothing but a hole.
      {{0, 5000}},            // A hole at the end.
      {{7 * kMiB, 100'000}},  // At the beginning, and at the end.
      {{0, 10}, {3 * kMiB + 5, 2 << 20}, {8 * kMiB - 1, 1}},
  };
  for (const test::Place place : {test::Place::memory, test::Place::disk})
    for (std::size_t n = 0; n < layouts.size(); ++n)
      for (const CopyRules& rules : all_ways()) {
        // The disk takes its time.
        if (rules.throttle || (place == test::Place::disk && n != 3)) continue;
        const TwoTrees trees(place);
        write_islands(trees, layouts[n]);
        const auto copied = trees.copy("f", rules);
        ASSERT_EQ(outcome(copied), "ok");
        expect_like(trees, "f");
        const Descriptor made(open(trees.dst_path("f").c_str(), O_RDONLY | O_CLOEXEC));
        fsync(made.get());
        EXPECT_EQ(stat_of(trees.dst_path("f")).st_blocks, stat_of(trees.src_path("f")).st_blocks)
            << "layout " << n;
        EXPECT_LT(copied->bytes, 4U << 20);
        if (rules.verify) {
          EXPECT_EQ(*copied->hash, hash_of(read_file(trees.src_path("f"))));
        }
      }
}

TEST(CopyFile, extended_attributes_and_acls_arrive_and_no_foreign_acl_stays) {
  const TwoTrees trees;
  const std::string acl = acl_with_user(1001);
  const std::string inherited = acl_with_user(2002);
  if (setxattr((trees.dir / "dst").c_str(), "system.posix_acl_default", inherited.data(),
               inherited.size(), 0) != 0)
    GTEST_SKIP() << "this file system has no ACLs";
  for (const bool unnamed : {false, true}) {
    trees.write_src("plain", "x");
    trees.write_src("rich", "x");
    const std::string path = trees.src_path("rich");
    ASSERT_EQ(setxattr(path.c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0), 0);
    const std::string long_value(2000, 'v');
    for (const char* name : {"user.empty", "user.long", "trusted.t", "security.s"}) {
      const std::string value = name == std::string("user.empty") ? "" : long_value;
      // Before Linux 6.6 a tmpfs has no user.* attributes.
      const int set = setxattr(path.c_str(), name, value.data(), value.size(), 0);
      ASSERT_TRUE(set == 0 || errno == ENOTSUP || errno == EPERM) << name;
    }
    const CopyRules rules{.unnamed = unnamed};
    ASSERT_EQ(outcome(trees.copy("plain", rules)), "ok");
    const auto rich = trees.copy("rich", rules);
    ASSERT_EQ(outcome(rich), "ok");
    EXPECT_FALSE(rich->lost.any());
    expect_like(trees, "plain");
    expect_like(trees, "rich");
    EXPECT_EQ(xattrs_of(trees.dst_path("plain")), "");
    EXPECT_EQ(xattrs_of(trees.dst_path("rich")), xattrs_of(path));
    EXPECT_NE(xattrs_of(path).find("posix_acl_access"), std::string::npos);
    for (const char* name : {"plain", "rich"}) std::filesystem::remove(trees.dst_path(name));
  }
}

TEST(CopyFile, a_file_replaces_anything_but_a_folder) {
  const TwoTrees trees;
  trees.write_src("f", "the new one");
  const std::string path = trees.dst_path("f");
  const Known wanted = trees.src_known("f");
  const std::vector<std::function<void()>> olds = {
      [&] { trees.write_dst("f", "old"); },
      [&] { std::filesystem::create_symlink("/etc/passwd", path); },
      [&] { EXPECT_EQ(mkfifo(path.c_str(), 0600), 0); },
  };
  for (const auto& make_old : olds) {
    make_old();
    const Known known = trees.dst_known("f");
    const Entry replaced = known.entry();
    EXPECT_EQ(outcome(trees.copy(wanted.entry(), &replaced, {})), "ok");
    expect_like(trees, "f");
    EXPECT_EQ(names_in(trees.dir / "dst"), Names{"f"});
    std::filesystem::remove(path);
  }
  std::filesystem::create_directory(path);
  const Known known = trees.dst_known("f");
  const Entry replaced = known.entry();
  EXPECT_EQ(outcome(trees.copy(wanted.entry(), &replaced, {})), "in_the_way");
}

TEST(CopyFile, what_was_damaged_on_the_way_is_found) {
  const TwoTrees trees;
  trees.write_src("f", random_bytes(3 << 20, 1));
  const std::string temp = trees.dst_path(temp_name("tag", "f"));
  CopyRules rules{.verify = true, .unnamed = false};
  int calls = 0;
  rules.throttle = [&](std::size_t) {
    if (++calls != 2) return;
    const Descriptor fd(open(temp.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(pwrite(fd.get(), "damage", 6, 1000), 6);
  };
  EXPECT_EQ(outcome(trees.copy("f", rules)), "verify_failed");
  EXPECT_EQ(names_in(trees.dir / "dst"), Names{});
}

TEST(CopyFile, what_a_killed_run_left_is_in_nobodys_way) {
  const TwoTrees trees;
  trees.write_src("f", "the new one");
  trees.write_dst(temp_name("tag", "f"), "half a fi");
  EXPECT_EQ(outcome(trees.copy("f", {.unnamed = false})), "ok");
  EXPECT_EQ(names_in(trees.dir / "dst"), Names{"f"});
  expect_like(trees, "f");
}

TEST(CopyFile, names_are_bytes) {
  const TwoTrees trees;
  for (const std::string& name :
       {std::string(255, 'n'), std::string(255, '\xff'), std::string("\n\t\x01 \\*?\"'"),
        std::string("..."), std::string("-rf"), std::string("\xc3\x28")})
    for (const bool unnamed : {false, true}) {
      trees.write_src(name, "x");
      EXPECT_EQ(outcome(trees.copy(name, {.unnamed = unnamed})), "ok") << name;
      EXPECT_EQ(names_in(trees.dir / "dst"), Names{name});
      expect_like(trees, name);
      std::filesystem::remove(trees.dst_path(name));
    }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../src/f"),
        std::string("a\0b", 3), std::string(256, 'n')}) {
    const auto copied = trees.copy(Entry{.name = name}, nullptr, {});
    ASSERT_EQ(outcome(copied), "io");
    EXPECT_EQ(copied.error().error, EINVAL);
  }
}

TEST(CopyFile, pieces_that_are_waited_for_add_up) {
  const TwoTrees trees;
  constexpr std::size_t kSize = (5 << 20) + 1;
  trees.write_src("f", random_bytes(kSize, 1));
  for (const bool verify : {false, true}) {
    std::vector<std::size_t> pieces;
    CopyRules rules{.verify = verify};
    rules.throttle = [&](std::size_t bytes) { pieces.push_back(bytes); };
    ASSERT_EQ(outcome(trees.copy("f", rules)), "ok");
    EXPECT_LE(*std::ranges::max_element(pieces), kCopyPieceBytesMax);
    EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::size_t{0}), kSize);
    std::filesystem::remove(trees.dst_path("f"));
  }
}

TEST(CopyFile, between_two_file_systems_it_works_and_a_full_one_is_left_as_it_was) {
  const TwoTrees trees;
  trees.write_src("fits", random_bytes(700'000, 1));
  trees.write_src("large", random_bytes(700'000, 2));
  const std::string said = run_apart([&]() -> std::string {
    std::string why_not = mount_tmpfs(trees.dir / "dst", "size=1m");
    if (!why_not.empty()) return why_not;
    const Descriptor dst(open((trees.dir / "dst").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::string all;
    const auto copy = [&](const char* name, const CopyRules& rules) {
      const Known known(trees.src.get(), name);
      const Entry wanted = known.entry();
      const std::string temp = temp_name("tag", name);
      const auto copied = copy_file(
          {.src = trees.src.get(), .dst = dst.get(), .wanted = wanted, .temp = temp}, rules);
      all += outcome(copied);
      if (!copied) all += copied.error().error == ENOSPC ? " full" : " other";
      all += ", ";
    };
    std::size_t waited = 0;
    copy("fits", {.throttle = [&](std::size_t bytes) { waited += bytes; }});
    all += waited == 700'000 ? "waited once, " : "waited otherwise, ";
    for (const bool unnamed : {false, true})
      for (const bool verify : {false, true}) copy("large", {.verify = verify, .unnamed = unnamed});
    for (const std::string& name : names_in(trees.dir / "dst")) all += name + " ";
    if (read_file(trees.dst_path("fits")) != read_file(trees.src_path("fits"))) all += "damaged";
    return all;
  });
  if (said.starts_with("skip")) GTEST_SKIP() << said;
  EXPECT_EQ(said, "ok, waited once, io full, io full, io full, io full, fits ");
}

}  // namespace
}  // namespace sluice::migrate::testing
