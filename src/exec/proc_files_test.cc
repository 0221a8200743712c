// SPDX-License-Identifier: MIT
#include "exec/proc_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace sluice::exec {
namespace {

struct Shown {
  std::string name = "sh";
  std::string state = "S";
  int threads = 1;
  unsigned flags = 0x400000;
  std::string env = "7000 7123";
};

std::string line_of(const Shown& shown) {
  return "4711 (" + shown.name + ") " + shown.state + " 1 4710 4709 0 -1 " +
         std::to_string(shown.flags) + " 1 2 3 4 5 6 7 8 20 0 " + std::to_string(shown.threads) +
         " 0 123456 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 "
         "49 " +
         shown.env + " 52\n";
}

TEST(ProcFiles, a_process_line_is_read_whatever_the_program_is_called) {
  for (const std::string name : {"sh", "", ") Z 1 2 3", "a b)", "((", "new\nline"}) {
    const auto line = parse_process_line(line_of({.name = name}));
    ASSERT_TRUE(line) << name;
    const ProcessLine expected{.pid = 4711,
                               .group = 4710,
                               .session = 4709,
                               .started = 123456,
                               .lives = true,
                               .leaves = false,
                               .env_bytes = 123};
    EXPECT_EQ(*line, expected) << name;
  }
}

TEST(ProcFiles, an_environment_may_be_empty_or_not_there_yet) {
  EXPECT_EQ(parse_process_line(line_of({.env = "7000 7000"}))->env_bytes, 0u);
  EXPECT_EQ(parse_process_line(line_of({.env = "0 0"}))->env_bytes, std::nullopt);
}

TEST(ProcFiles, one_that_ends_and_a_part_of_the_kernel_have_no_environment) {
  EXPECT_TRUE(parse_process_line(line_of({.flags = 0x400004}))->leaves);
  EXPECT_TRUE(parse_process_line(line_of({.flags = 0x208040}))->leaves);
}

TEST(ProcFiles, a_zombie_does_not_live_unless_its_threads_do) {
  EXPECT_FALSE(parse_process_line(line_of({.state = "Z", .threads = 1}))->lives);
  EXPECT_FALSE(parse_process_line(line_of({.state = "X", .threads = 0}))->lives);
  EXPECT_TRUE(parse_process_line(line_of({.state = "Z", .threads = 2}))->lives);
  EXPECT_TRUE(parse_process_line(line_of({.state = "D", .threads = 1}))->lives);
}

TEST(ProcFiles, half_a_process_line_is_none) {
  const std::string whole = line_of({});
  for (std::size_t size = 0; size < whole.find(" 52"); ++size)
    EXPECT_FALSE(parse_process_line(whole.substr(0, size))) << size;
}

TEST(ProcFiles, a_lock_line_is_read) {
  const auto range =
      parse_lock_line("lock:\t1: OFDLCK ADVISORY  WRITE -1 fe:00:10953436 77 4611686018427387903");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->file, "fe:00:10953436");
  EXPECT_EQ(range->first, 77u);
  EXPECT_EQ(range->last, 4611686018427387903u);
  EXPECT_EQ(parse_lock_line("lock:\t1: OFDLCK  ADVISORY  WRITE -1 08:01:12 0 EOF")->last,
            std::numeric_limits<std::uint64_t>::max());
}

TEST(ProcFiles, other_lines_are_no_locks) {
  for (const char* line :
       {"", "pos:\t0", "lock:", "lock:\t1: POSIX  ADVISORY  WRITE 12 08:01:12 0 EOF",
        "lock:\t1: OFDLCK  ADVISORY  WRITE -1 08:01:12 0",
        "lock:\t1: FLOCK  ADVISORY  WRITE 1 a 0 9",
        "lock:\t1: OFDLCK  ADVISORY  WRITE -1 08:01:12 x 9"})
    EXPECT_FALSE(parse_lock_line(line)) << line;
}

TEST(ProcFiles, we_are_among_the_processes) {
  const auto self = read_process(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->pid, getpid());
  EXPECT_EQ(self->group, getpgrp());
  EXPECT_EQ(self->session, getsid(0));
  EXPECT_TRUE(self->lives);
  EXPECT_FALSE(self->leaves);
  const auto pids = read_pids();
  ASSERT_TRUE(pids);
  EXPECT_TRUE(std::ranges::count(*pids, getpid()) == 1);
  EXPECT_FALSE(read_process(std::numeric_limits<pid_t>::max()));
}

TEST(ProcFiles, an_entry_of_an_environment_is_found) {
  int entries = 0;
  EXPECT_EQ(any_env_entry(getpid(), [&](std::string_view) { return ++entries == 2; }), Answer::yes);
  EXPECT_EQ(entries, 2);
  EXPECT_EQ(any_env_entry(getpid(), [](std::string_view) { return false; }), Answer::no);
  EXPECT_EQ(any_env_entry(std::numeric_limits<pid_t>::max(), [](std::string_view) { return true; }),
            Answer::no);
}

}  // namespace
}  // namespace sluice::exec
