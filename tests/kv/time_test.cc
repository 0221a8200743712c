// SPDX-License-Identifier: MIT
// Store time between processes, each of which has another idea of the date.
#include <gtest/gtest.h>
#include <sluice/kv.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <regex>
#include <string>
#include <vector>

#include "tests/kv/actor_path.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

std::unique_ptr<kv::Store> open_store(const TempDir& dir) {
  auto store = kv::open_lmdb({.dir = dir / "store", .map_bytes = 256 << 20});
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

Child start_teller(const TempDir& dir, std::chrono::seconds ahead) {
  return Child({actor_path(), "tell_time", dir / "store", std::to_string(ahead.count())});
}

WallTime ask(Child& teller) {
  teller.write_line("?");
  const auto line = teller.read_line();
  EXPECT_TRUE(line);
  return WallTime(Duration(line ? std::stoll(*line) : 0));
}

void stop(Child& teller) {
  teller.close_input();
  const Exit exit = teller.wait();
  EXPECT_TRUE(exit.clean()) << exit.to_string();
}

TEST(TimeBetweenProcesses, two_processes_agree_whatever_their_dates) {
  const TempDir dir;
  const auto store = open_store(dir);
  ASSERT_TRUE(store);
  const Stopwatch watch;
  const WallTime first = store->now();
  for (const auto ahead : {hours(1), hours(0), hours(-1)}) {
    Child teller = start_teller(dir, ahead);
    ASSERT_EQ(teller.read_line(), "ready");
    for (int round = 0; round < 200; ++round) {
      const WallTime before = store->now();
      const WallTime told = ask(teller);
      ASSERT_LE(before, told) << "round " << round;
      ASSERT_LE(told, store->now()) << "round " << round;
    }
    stop(teller);
  }
  // Nor did anybody's date move it.
  const WallTime last = store->now();
  EXPECT_TRUE(watch.reached(last - first));
}

TEST(TimeBetweenProcesses, those_that_open_at_the_same_moment_agree) {
  for (int round = 0; round < 20; ++round) {
    const TempDir dir;
    std::vector<Child> tellers;
    for (int i = 0; i < 6; ++i) tellers.push_back(start_teller(dir, minutes(i * i)));
    for (Child& teller : tellers) ASSERT_EQ(teller.read_line(), "ready");
    WallTime last;
    for (Child& teller : tellers) {
      const WallTime told = ask(teller);
      EXPECT_GE(told, last) << "round " << round;
      last = told;
    }
    EXPECT_GE(ask(tellers.front()), last) << "round " << round;
    for (Child& teller : tellers) stop(teller);
  }
}

TEST(TimeBetweenProcesses, the_first_process_may_be_killed_and_its_time_goes_on) {
  const TempDir dir;
  Child first = start_teller(dir, hours(10));
  ASSERT_EQ(first.read_line(), "ready");
  const auto store = open_store(dir);
  ASSERT_TRUE(store);
  const WallTime told = ask(first);
  first.kill();
  EXPECT_EQ(first.wait().signal, SIGKILL);
  const WallTime before = store->now();
  EXPECT_GE(before, told);
  Child late = start_teller(dir, hours(-10));
  ASSERT_EQ(late.read_line(), "ready");
  const WallTime told_late = ask(late);
  EXPECT_GE(told_late, before);
  EXPECT_LE(told_late, store->now());
  stop(late);
}

// The last time that was told is remembered exactly enough, although no process closed the store.
TEST(TimeBetweenProcesses, does_not_run_backwards_when_all_are_killed_and_the_date_is_set_back) {
  const std::uint64_t rounds = RunSize{5, 50, 500}.pick();
  const TempDir dir;
  WallTime last;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Child teller = start_teller(dir, -hours(round));
    ASSERT_EQ(teller.read_line(), "ready");
    for (int i = 0; i < 20; ++i) {
      const WallTime told = ask(teller);
      ASSERT_GE(told, last) << "round " << round;
      last = told;
    }
    teller.kill();
    EXPECT_EQ(teller.wait().signal, SIGKILL);
  }
  // Nor did it run ahead: nothing but the time that was told has passed.
  EXPECT_LE(last - minutes(1), wall_now());
  print_figure("store_time_kills", rounds);
}

#if !defined(SLUICE_SANITIZED)

// Waits until the kernel's list of locks has a line like this.
bool wait_for_lock(const std::string& pattern) {
  const std::regex line("(^|\\n)\\d+: " + pattern);
  return wait_until([&] { return std::regex_search(read_file("/proc/locks"), line); });
}

// It dies after it found itself alone, and before it has written: the file still holds what was
// right in a former boot, which the process that waits behind must not take for good.
TEST(TimeBetweenProcesses, one_that_is_killed_before_it_has_set_the_time_misleads_nobody) {
  const TempDir dir;
  (void)open_store(dir);
  std::string bell = read_file(dir / "store/bell");
  ASSERT_GT(bell.size(), 16u);
  bell.replace(8, 8, 8, '\0');  // The boot clock's zero was in 1970.
  write_file(dir / "store/bell", bell);
  struct stat info{};
  ASSERT_EQ(::stat((dir / "store/bell").c_str(), &info), 0);
  // The first room taken from the disk is the one for this file. The actor dies with its tracer.
  Child first({"strace", "-qq", "-o", "/dev/null", "-e", "trace=fallocate", "-e",
               "inject=fallocate:delay_enter=60000000:when=1", actor_path(), "tell_time",
               dir / "store", "0"});
  ASSERT_TRUE(wait_for_lock("FLOCK +ADVISORY +WRITE .*:" + std::to_string(info.st_ino) + " "));
  Child second = start_teller(dir, hours(0));
  ASSERT_TRUE(wait_for_lock("-> FLOCK .* " + std::to_string(second.pid()) + " "));
  first.kill();
  EXPECT_EQ(first.wait().signal, SIGKILL);
  ASSERT_EQ(second.read_line(), "ready");
  EXPECT_GE(ask(second) + minutes(1), wall_now());
  stop(second);
}

#endif

}  // namespace
}  // namespace sluice::test
