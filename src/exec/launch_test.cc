// SPDX-License-Identifier: MIT
// How a program finds the world when it starts, and what stands in its way.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <string>
#include <thread>

#include "exec/process.h"
#include "exec/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::exec {
namespace {

using testing::Finished;
using testing::kPath;
using testing::Pipe;
using testing::role;
using testing::run;
using testing::shell;
using testing::started;

// A script or program that may be run.
std::string executable(const test::TempDir& dir, const std::string& name, const std::string& text) {
  test::write_file(dir / name, text);
  SLUICE_CHECK(::chmod((dir / name).c_str(), 0700) == 0);
  return dir / name;
}

Status failure_of(const Command& command) {
  Result<Process> process = Process::start(command);
  if (!process) return process.error();
  const Result<Ending> ending = process->wait();
  if (ending) return {};
  EXPECT_TRUE(process->never_ran());
  EXPECT_TRUE(process->reaped());
  EXPECT_EQ(process->reap().error(), ending.error()) << "it is told again";
  return ending.error();
}

bool readable_now(int fd) {
  pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&wanted, 1, 0) == 1;
}

TEST(Launch, runs_in_the_working_directory) {
  const test::TempDir dir;
  Command command = shell("pwd -P");
  command.cwd = dir.path();
  EXPECT_EQ(run(command).printed, dir.path() + "\n");
}

TEST(Launch, has_exactly_the_environment_it_was_given) {
  Command command{.argv = {"/usr/bin/env"}, .env = {"B=2", "A=1 and more\tbytes", "EMPTY="}};
  EXPECT_EQ(run(command).printed, "B=2\nA=1 and more\tbytes\nEMPTY=\n");
  command.env.clear();
  EXPECT_EQ(run(command).printed, "");
}

TEST(Launch, every_byte_but_nul_arrives_in_an_argument) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(run(role({"arguments", all, "", "last"})).printed, all + std::string("\0\0last\0", 7));
}

TEST(Launch, inherits_no_descriptor_but_its_three) {
  // Not closed at exec, as those of a careless library.
  const Descriptor careless(::open("/dev/null", O_RDONLY));
  const Descriptor high(::fcntl(careless.get(), F_DUPFD, 200));
  ASSERT_TRUE(high.valid());
  // The fourth is the directory that `ls` itself has open.
  EXPECT_EQ(run({.argv = {"/bin/ls", "/proc/self/fd"}}).printed, "0\n1\n2\n3\n");
  Pipe kept;
  Command command{.argv = {"/bin/ls", "/proc/self/fd"}, .kept = kept.end()};
  EXPECT_EQ(run(command).printed, "0\n1\n2\n3\n4\n");
}

TEST(Launch, descriptors_may_have_any_number_before) {
  const test::TempDir dir;
  test::write_file(dir / "kept", "kept");
  for (int output = 0; output < 6; ++output)
    for (int kept = 0; kept < 6; ++kept) {
      if (output == kept) continue;
      EXPECT_EQ(run(role({"numbers", dir / "kept", std::to_string(output), std::to_string(kept),
                          "sh", "-c", "cat <&3; readlink /proc/self/fd/0; ls /proc/self/fd >&2"}))
                    .printed,
                "kept/dev/null\n0\n1\n2\n3\n4\n")
          << output << " " << kept;
    }
}

TEST(Launch, leads_a_session_and_a_group_of_its_own) {
  Pipe pipe;
  Command command = shell("read -r line </proc/self/stat; echo ${line#*) }; exec sleep 600");
  command.output = pipe.end();
  Process process = started(command);
  const std::string pid = std::to_string(process.pid());
  // State, parent, group, session.
  EXPECT_EQ(pipe.line().substr(2).rfind(std::to_string(getpid()) + " " + pid + " " + pid + " ", 0),
            0u);
  EXPECT_EQ(::getsid(process.pid()), process.pid());
  EXPECT_EQ(::getpgid(process.pid()), process.pid());
}

TEST(Launch, signals_are_neither_blocked_nor_ignored) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto pipe_before = ::signal(SIGPIPE, SIG_IGN);
  const auto last_before = ::signal(SIGRTMAX, SIG_IGN);
  const Finished done = run(role({"signals"}));
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(::signal(SIGPIPE, pipe_before), SIG_IGN) << "ours must stay as it was";
  ::signal(SIGRTMAX, last_before);
  EXPECT_EQ(done.printed, "0000000000000000\n0000000000000000\n");
  EXPECT_EQ(sigismember(&after, SIGUSR1), 1) << "ours must stay as it was";
}

TEST(Launch, a_program_is_found_by_the_path_of_its_own_environment) {
  const test::TempDir dir;
  executable(dir, "only-here", "#!/bin/sh\necho found\n");
  EXPECT_EQ(run({.argv = {"only-here"}, .env = {"PATH=/nowhere:" + dir.path()}}).printed,
            "found\n");
  EXPECT_EQ(failure_of({.argv = {"only-here"}, .env = {kPath}}).code(), Code::not_found);
  EXPECT_EQ(run({.argv = {"echo", "no", "PATH"}}).printed, "no PATH\n");
}

TEST(Launch, relative_programs_are_found_from_the_working_directory) {
  const test::TempDir dir;
  executable(dir, "here", "#!/bin/sh\necho found\n");
  EXPECT_EQ(run({.argv = {"./here"}, .cwd = dir.path()}).printed, "found\n");
  EXPECT_EQ(run({.argv = {"here"}, .env = {"PATH=/nowhere:"}, .cwd = dir.path()}).printed,
            "found\n");
}

TEST(Launch, a_program_that_may_not_be_run_is_passed_over_for_a_later_one) {
  const test::TempDir first;
  const test::TempDir second;
  test::write_file(first / "tool", "not executable");
  executable(second, "tool", "#!/bin/sh\necho second\n");
  const std::string path = "PATH=" + first.path() + ":" + second.path();
  EXPECT_EQ(run({.argv = {"tool"}, .env = {path}}).printed, "second\n");
}

TEST(Launch, a_script_without_a_first_line_is_run_by_the_shell) {
  const test::TempDir dir;
  const std::string script = executable(dir, "script", "echo \"$0 $# $2\"\n");
  EXPECT_EQ(run({.argv = {script, "a", "b c"}}).printed, script + " 2 b c\n");
  EXPECT_EQ(run({.argv = {"script"}, .env = {"PATH=" + dir.path()}}).printed, script + " 0 \n");
}

TEST(Launch, a_missing_program_is_not_found) {
  const Status status = failure_of({.argv = {"nosuch"}, .env = {kPath}});
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_EQ(status.message().rfind("nosuch: command not found; ", 0), 0u) << status.message();
  EXPECT_NE(status.message().find("/bin:/usr/bin"), std::string::npos) << status.message();
  EXPECT_EQ(failure_of({.argv = {"/no/such"}}).message().rfind("/no/such: command not found; ", 0),
            0u);
}

TEST(Launch, a_missing_working_directory_is_not_found) {
  const test::TempDir dir;
  const Status status = failure_of({.argv = {"/bin/true"}, .cwd = dir / "x"});
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_EQ(status.message().rfind("the working directory " + (dir / "x") + " does not exist", 0),
            0u);
  test::write_file(dir / "file", "");
  EXPECT_EQ(failure_of({.argv = {"/bin/true"}, .cwd = dir / "file"}).code(),
            Code::invalid_argument);
}

TEST(Launch, a_file_that_is_not_executable_is_denied) {
  const test::TempDir dir;
  test::write_file(dir / "file", "#!/bin/sh\n");
  const Status status = failure_of({.argv = {dir / "file"}});
  EXPECT_EQ(status.code(), Code::permission_denied);
  EXPECT_NE(status.message().find("cannot run " + (dir / "file")), std::string::npos);
}

TEST(Launch, wrong_commands_are_refused) {
  const std::string nul("a\0b", 3);
  const std::string huge(3 * 1024 * 1024, 'x');
  EXPECT_EQ(failure_of({}).code(), Code::invalid_argument);
  EXPECT_EQ(failure_of({.argv = {""}}).code(), Code::invalid_argument);
  EXPECT_EQ(failure_of({.argv = {"/bin/true", nul}}).code(), Code::invalid_argument);
  EXPECT_EQ(failure_of({.argv = {"/bin/true"}, .env = {"A=" + nul}}).code(),
            Code::invalid_argument);
  EXPECT_EQ(failure_of({.argv = {"/bin/true"}, .env = {"A"}}).code(), Code::invalid_argument);
  EXPECT_EQ(failure_of({.argv = {"/bin/true"}, .env = {"=A"}}).code(), Code::invalid_argument);
  EXPECT_EQ(failure_of({.argv = {"/bin/true"}, .cwd = nul}).code(), Code::invalid_argument);
  EXPECT_EQ(failure_of({.argv = {"/bin/true", huge}}).code(), Code::invalid_argument);
}

TEST(Launch, a_failure_names_the_step_and_leaves_nothing_behind) {
  const Status output = failure_of({.argv = {"/bin/true"}, .output = 987'654});
  EXPECT_NE(output.message().find("its output"), std::string::npos) << output.message();
  const Status kept = failure_of({.argv = {"/bin/true"}, .kept = 987'654});
  EXPECT_NE(kept.message().find("it is to keep"), std::string::npos) << kept.message();
  const int next = ::dup(0);
  ::close(next);
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(failure_of({.argv = {"/no/such"}}).ok());
  const int still = ::dup(0);
  ::close(still);
  EXPECT_EQ(still, next) << "descriptors are left open";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left to be reaped";
}

TEST(Launch, a_signal_that_comes_before_the_program_is_not_lost) {
  for (int i = 0; i < 200; ++i) {
    Process process = Process::start(shell("exec sleep 600")).value();
    process.signal(i % 2 == 0 ? SIGTERM : SIGKILL);
    EXPECT_EQ(process.wait().value().signal, i % 2 == 0 ? SIGTERM : SIGKILL);
  }
}

TEST(Launch, our_errno_is_not_that_of_the_new_process) {
  // It tries each of these in vain, while we go on.
  std::string path = "PATH=/nowhere";
  for (int i = 0; i < 2'000; ++i) path += ":/nowhere";
  Result<Process> process = Process::start({.argv = {"nosuch"}, .env = {path}});
  ASSERT_TRUE(process);
  errno = 0;
  while (!readable_now(process->pidfd())) ASSERT_EQ(errno, 0);
  EXPECT_EQ(process->wait().error().code(), Code::not_found);
}

TEST(Launch, many_threads_start_programs_at_once) {
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&right, thread] {
        for (int i = 0; i < 25; ++i) {
          const std::string word = std::to_string(thread) + "-" + std::to_string(i);
          if (run(role({"arguments", word})).printed == word + std::string(1, '\0')) ++right;
          if (failure_of({.argv = {"/no/such"}}).code() == Code::not_found) ++right;
        }
      });
  }
  EXPECT_EQ(right, 200);
}

}  // namespace
}  // namespace sluice::exec
