// SPDX-License-Identifier: MIT
// A disk of three megabytes that really is full.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tests/kv/actor_path.h"
#include "tests/kv/checked.h"
#include "tests/kv/notes.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

// In a mount namespace of this process, so that nothing of it is left behind.
bool mount_small_disk(const std::string& dir) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("sluice-test", dir.c_str(), "tmpfs", 0, "size=3m") == 0;
}

Truth truth_in(const std::string& notes) {
  Truth truth;
  apply_notes(read_file(notes), truth);
  return truth;
}

TEST(SmallDisk, a_full_disk_refuses_and_goes_on_when_there_is_room_again) {
  const TempDir disk;
  const TempDir dir;
  if (!mount_small_disk(disk.path()))
    GTEST_SKIP() << "cannot mount a tmpfs (needs root): " << std::strerror(errno);
  const std::string filler = disk / "filler";
  write_file(filler, std::string(1 << 20, 'x'));

  Child writer({actor_path(), "fill", disk / "store", dir / "notes"});
  EXPECT_EQ(writer.read_line(), "full storage_full");
  EXPECT_EQ(writer.read_line(), "mapped ok");
  const Truth when_full = truth_in(dir / "notes");
  EXPECT_GT(when_full.at(0).acked, 50u);
  const Checked full = check_in_child(disk / "store", when_full);
  EXPECT_TRUE(full.clean()) << full.to_string();

  std::filesystem::remove(filler);
  writer.write_line("there is room again");
  EXPECT_EQ(writer.read_lines(), std::vector<std::string>(20, "post ok"));
  const Exit exit = writer.wait();
  EXPECT_TRUE(exit.clean()) << exit.to_string();
  const Checked after = check_in_child(disk / "store", truth_in(dir / "notes"), 3);
  EXPECT_TRUE(after.clean()) << after.to_string();
  EXPECT_EQ(umount(disk.path().c_str()), 0);
  print_figure("small_disk_postings_until_full", when_full.at(0).acked);
}

}  // namespace
}  // namespace sluice::test
