// SPDX-License-Identifier: MIT
#include "exec/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdint>
#include <utility>

#include "exec/output_file.h"
#include "exec/testing.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

namespace sluice::exec {
namespace {

using testing::pid_in;
using testing::Pipe;
using testing::readable;
using testing::role;
using testing::run;
using testing::shell;
using testing::started;
using testing::watch;

TEST(Process, tells_the_exit_code) {
  for (const int code : {0, 1, 42, 255}) {
    const Ending ending = run(shell("exit " + std::to_string(code))).ending;
    EXPECT_EQ(ending.exit_code, code);
    EXPECT_EQ(ending.signal, 0);
  }
}

TEST(Process, tells_the_signal_that_ended_it) {
  for (const int number : {SIGTERM, SIGKILL, SIGUSR1}) {
    Process process = started(shell("exec sleep 600"));
    process.signal(number);
    const Ending ending = process.wait().value();
    EXPECT_EQ(ending.exit_code, -1);
    EXPECT_EQ(ending.signal, number);
  }
}

TEST(Process, is_readable_when_it_has_ended_and_is_reaped_without_blocking) {
  Process process = started(shell("exec sleep 600"));
  EXPECT_EQ(process.reap().value(), std::nullopt);
  EXPECT_FALSE(process.reaped());
  process.signal(SIGTERM);
  ASSERT_TRUE(readable(process.pidfd()));
  const auto ending = process.reap().value();
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->signal, SIGTERM);
  EXPECT_TRUE(process.reaped());
}

TEST(Process, tells_its_ending_again) {
  Process process = started(shell("exit 7"));
  EXPECT_EQ(process.wait().value().exit_code, 7);
  EXPECT_EQ(process.wait().value().exit_code, 7);
  EXPECT_EQ(process.reap().value()->exit_code, 7);
}

TEST(Process, tells_what_it_used) {
  const Usage usage =
      run(shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; cat /proc/self/stat"))
          .ending.usage;
  EXPECT_GT(usage.user + usage.system, std::chrono::milliseconds(5));
  EXPECT_LT(usage.user + usage.system, std::chrono::minutes(1));
  EXPECT_GT(usage.rss_bytes_max, 256u * 1024);
}

TEST(Process, prints_both_outputs_into_a_file) {
  const test::TempDir dir;
  const Descriptor file = open_output(AT_FDCWD, dir / "out").value();
  Command command = shell("echo one; echo two >&2; echo three");
  command.output = file.get();
  EXPECT_EQ(started(command).wait().value().exit_code, 0);
  EXPECT_EQ(test::read_file(dir / "out"), "one\ntwo\nthree\n");
}

TEST(Process, reads_nothing_and_prints_to_nowhere_by_default) {
  EXPECT_EQ(run(shell("cat; readlink /proc/self/fd/0")).printed, "/dev/null\n");
  const auto ending = started(shell("for n in 0 1 2; do readlink /proc/$$/fd/$n; done | "
                                    "cmp - <<E\n/dev/null\n/dev/null\n/dev/null\nE"))
                          .wait();
  // The list goes through a pipe that the shell itself makes; $$ is the shell.
  EXPECT_EQ(ending.value().exit_code, 0);
}

TEST(Process, signals_reach_grandchildren) {
  Pipe pipe;
  Command command = shell(
      "sh -c 'trap \"echo caught; exit\" TERM; echo ready; "
      "while :; do sleep 600 & wait; done' & wait");
  command.output = pipe.end();
  Process process = started(command);
  ASSERT_EQ(pipe.line(), "ready");
  process.signal(SIGTERM);
  EXPECT_EQ(pipe.line(), "caught");
  EXPECT_EQ(process.wait().value().signal, SIGTERM);
}

TEST(Process, leftovers_of_its_group_are_killed_when_it_is_reaped) {
  Pipe pipe;
  Command command = shell("sleep 600 & echo $!");
  command.output = pipe.end();
  Process process = started(command);
  const Descriptor leftover = watch(pid_in(pipe.line()));
  ASSERT_TRUE(leftover.valid());
  ASSERT_TRUE(readable(process.pidfd()));
  pollfd now{.fd = leftover.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&now, 1, 0), 0) << "it has ended before the reaping";
  EXPECT_TRUE(process.reap().value());
  EXPECT_TRUE(readable(leftover.get()));
}

TEST(Process, is_killed_with_its_group_when_the_object_goes) {
  Pipe pipe;
  Descriptor leader;
  Descriptor other;
  {
    Command command = shell("trap '' TERM HUP INT; sleep 600 & echo $!; wait");
    command.output = pipe.end();
    const Process process = started(command);
    other = watch(pid_in(pipe.line()));
    leader = watch(process.pid());
  }
  EXPECT_TRUE(readable(leader.get()));
  EXPECT_TRUE(readable(other.get()));
}

TEST(Process, moves_to_another_object) {
  Process first = started(shell("exec sleep 600"));
  const pid_t pid = first.pid();
  Process second = std::move(first);
  EXPECT_EQ(second.pid(), pid);
  EXPECT_EQ(second.reap().value(), std::nullopt);
  Process third = started(shell("exec sleep 600"));
  const Descriptor replaced = watch(third.pid());
  third = std::move(second);
  EXPECT_TRUE(readable(replaced.get()));
  EXPECT_EQ(third.reap().value(), std::nullopt);
  third.signal(SIGTERM);
  EXPECT_EQ(third.wait().value().signal, SIGTERM);
}

// A child of ours with this very number, in a group of its own; -1 if the account may not choose.
pid_t fork_as(pid_t wanted, const Pipe& ready) {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
  args.set_tid_size = 1;
  const pid_t pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
  if (pid != 0) return pid;
  ::syscall(SYS_setpgid, 0, 0);
  ::syscall(SYS_write, ready.end(), "ready\n", 6);
  for (;;) ::syscall(SYS_pause);
}

TEST(Process, nothing_is_signalled_once_it_was_reaped) {
  Process process = started(shell("exit 0"));
  EXPECT_EQ(process.wait().value().exit_code, 0);
  Pipe pipe;
  const pid_t stranger = fork_as(process.pid(), pipe);
  if (stranger < 0) GTEST_SKIP() << "needs the right to choose the number of a process";
  ASSERT_EQ(pipe.line(), "ready");
  process.signal(SIGKILL);
  // A SIGKILL that came first would have ended it.
  EXPECT_EQ(::kill(stranger, SIGTERM), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(stranger, &status, 0), stranger);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(Process, a_signal_to_us_does_not_end_the_waiting) {
  struct sigaction heed{};
  struct sigaction before{};
  heed.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &heed, &before), 0);
  Process process =
      started(shell("i=0; while [ $i -lt 500 ]; do i=$((i+1)); kill -USR1 $PPID; done; exit 5"));
  EXPECT_EQ(process.wait().value().exit_code, 5);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Process, one_that_was_reaped_by_somebody_else_is_a_failure_that_says_so) {
  Process process = started(shell("exit 0"));
  ASSERT_EQ(waitpid(process.pid(), nullptr, 0), process.pid());
  EXPECT_EQ(process.reap().error().code(), Code::io_error);
  EXPECT_EQ(process.wait().error().code(), Code::io_error);
  EXPECT_TRUE(process.reaped());
}

TEST(Process, dies_when_its_parent_is_killed) {
  const test::TempDir dir;
  test::Child worker(
      {testing::test_worker(), "worker", dir / "locks", "7", "MARK=1", "sleep", "600"});
  const auto line = worker.read_line();
  ASSERT_TRUE(line);
  const Descriptor program = watch(pid_in(*line));
  ASSERT_TRUE(program.valid());
  worker.kill();
  EXPECT_TRUE(readable(program.get()));
}

}  // namespace
}  // namespace sluice::exec
