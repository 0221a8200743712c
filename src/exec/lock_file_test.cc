// SPDX-License-Identifier: MIT
#include "exec/lock_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>

#include "exec/testing.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

namespace sluice::exec {
namespace {

using testing::pid_in;
using testing::Pipe;
using testing::readable;
using testing::shell;
using testing::started;
using testing::watch;

TEST(LockFile, is_made_for_its_owner_only) {
  const test::TempDir dir;
  const LockFile locks = LockFile::open(dir / "locks").value();
  struct stat info{};
  ASSERT_EQ(::stat((dir / "locks").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(info.st_size, 0);
}

TEST(LockFile, a_place_has_one_holder) {
  const test::TempDir dir;
  const LockFile locks = LockFile::open(dir / "locks").value();
  const LockFile others = LockFile::open(dir / "locks").value();
  EXPECT_FALSE(locks.held(7).value());
  {
    const auto lock = locks.try_lock(7).value();
    ASSERT_TRUE(lock);
    EXPECT_TRUE(locks.held(7).value());
    EXPECT_TRUE(others.held(7).value());
    EXPECT_FALSE(locks.try_lock(7).value());
    EXPECT_FALSE(others.try_lock(7).value());
    EXPECT_FALSE(locks.held(6).value());
    EXPECT_FALSE(locks.held(8).value());
    EXPECT_TRUE(locks.try_lock(8).value());
  }
  EXPECT_FALSE(locks.held(7).value());
  EXPECT_TRUE(others.try_lock(7).value());
}

TEST(LockFile, the_lowest_62_bits_of_a_place_count) {
  const test::TempDir dir;
  const LockFile locks = LockFile::open(dir / "locks").value();
  const std::uint64_t last = (std::uint64_t{1} << 62) - 1;
  const auto lock = locks.try_lock(last).value();
  ASSERT_TRUE(lock);
  EXPECT_TRUE(locks.held(~std::uint64_t{0}).value());
  EXPECT_FALSE(locks.held(last + 1).value());
  EXPECT_FALSE(locks.held(last - 1).value());
  EXPECT_FALSE(locks.held(last >> 1).value());
  EXPECT_TRUE(locks.try_lock(last + 1).value());
}

TEST(LockFile, a_lock_is_closed_at_exec_unless_it_is_handed_on) {
  const test::TempDir dir;
  const LockFile locks = LockFile::open(dir / "locks").value();
  const auto lock = locks.try_lock(1).value();
  EXPECT_NE(::fcntl(lock->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(LockFile, a_program_holds_the_lock_after_we_have_closed_it) {
  const test::TempDir dir;
  const LockFile locks = LockFile::open(dir / "locks").value();
  auto lock = locks.try_lock(1).value();
  Command command = shell("exec sleep 600");
  command.kept = lock->fd();
  Process process = started(command);
  lock.reset();
  EXPECT_TRUE(locks.held(1).value());
  EXPECT_FALSE(locks.try_lock(1).value());
  process.signal(SIGKILL);
  EXPECT_EQ(process.wait().value().signal, SIGKILL);
  EXPECT_FALSE(locks.held(1).value());
}

TEST(LockFile, the_end_of_a_program_leaves_the_lock_to_us) {
  const test::TempDir dir;
  const LockFile locks = LockFile::open(dir / "locks").value();
  const auto lock = locks.try_lock(1).value();
  Command command = shell("exit 0");
  command.kept = lock->fd();
  EXPECT_EQ(started(command).wait().value().exit_code, 0);
  EXPECT_TRUE(locks.held(1).value());
}

TEST(LockFile, a_grandchild_holds_the_lock_when_all_above_it_were_killed) {
  const test::TempDir dir;
  const LockFile locks = LockFile::open(dir / "locks").value();
  test::Child worker({testing::test_worker(), "worker", dir / "locks", "9", "MARK=1", "sh", "-c",
                      "sleep 600 & echo grandchild $!; wait"});
  pid_t child = 0;
  pid_t grandchild = 0;
  // The pid of the program and what it prints come in any order.
  for (int line = 0; line < 2; ++line) {
    const std::string text = worker.read_line().value_or("");
    if (text.starts_with("grandchild "))
      grandchild = pid_in(text.substr(11));
    else
      child = pid_in(text);
  }
  const Descriptor below = watch(child);
  const Descriptor last = watch(grandchild);
  ASSERT_TRUE(last.valid());
  worker.kill();
  worker.wait();
  ASSERT_TRUE(readable(below.get()));
  EXPECT_TRUE(locks.held(9).value());
  ::kill(grandchild, SIGKILL);
  ASSERT_TRUE(readable(last.get()));
  EXPECT_FALSE(locks.held(9).value());
}

TEST(LockFile, a_file_that_was_replaced_is_locked_no_more) {
  const test::TempDir dir;
  const LockFile locks = LockFile::open(dir / "locks").value();
  std::filesystem::remove(dir / "locks");
  EXPECT_EQ(locks.try_lock(1).error().code(), Code::io_error);
  const LockFile fresh = LockFile::open(dir / "locks").value();
  EXPECT_EQ(locks.try_lock(1).error().code(), Code::io_error);
  EXPECT_TRUE(fresh.try_lock(1).value());
}

TEST(LockFile, a_missing_directory_is_not_found) {
  const test::TempDir dir;
  EXPECT_EQ(LockFile::open(dir / "no/locks").error().code(), Code::not_found);
}

}  // namespace
}  // namespace sluice::exec
