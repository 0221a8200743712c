// SPDX-License-Identifier: MIT
#include "program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 60s;

double cpu_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double cpu_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return cpu_seconds(usage);
}

double seconds_since(MonoTime began) {
  return std::chrono::duration<double>(system_clock().mono() - began).count();
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// Orphans become children of this process, so these are all that is left of a tree.
void kill_children() {
  std::ifstream children(fmt::format("/proc/self/task/{}/children", getpid()));
  for (pid_t pid = 0; children >> pid;) kill(pid, SIGKILL);
}

}  // namespace

Result<Process> Process::start(const Program& program) {
  std::vector<std::string> words = program.words;
  std::vector<std::string> environment = program.environment;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, program.input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, program.output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!program.errors.empty())
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, program.errors.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const MonoTime began = system_clock().mono();
  pid_t pid = -1;
  const int rc = posix_spawnp(&pid, words[0].c_str(), &actions, nullptr, pointers(words).data(),
                              pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (rc == ENOENT)
    return error(Code::not_found,
                 fmt::format("there is no {}: tools/install installs the peers", words[0]));
  if (rc != 0)
    return error(Code::io_error, fmt::format("cannot start {}: {}", words[0], std::strerror(rc)));
  return Process(words[0], pid, began);
}

Process::~Process() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<double> Process::cpu_used() const {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0)
    return error(Code::unavailable, name_ + " has ended early");
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

Result<double> Process::peak_mib() const {
  constexpr std::string_view kName = "VmHWM:";
  std::ifstream status(fmt::format("/proc/{}/status", pid_));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kName)) return std::stod(line.substr(kName.size())) / 1024;
  return error(Code::unavailable, name_ + " has ended early");
}

Result<Ended> Process::end() {
  int status = 0;
  rusage usage{};
  while (wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) continue;
  pid_ = -1;
  if (!WIFEXITED(status))
    return error(Code::unavailable, fmt::format("{} has failed (status {})", name_, status));
  return Ended{.cost = {.wall_seconds = seconds_since(began_), .cpu_seconds = cpu_seconds(usage)},
               .exit_code = WEXITSTATUS(status),
               .peak_mib = static_cast<double>(usage.ru_maxrss) / 1024};
}

Result<Cost> Process::finish() {
  SLUICE_LET(ended, end());
  if (ended.exit_code == 0) return ended.cost;
  return error(Code::unavailable,
               fmt::format("{} has failed (exit code {})", name_, ended.exit_code));
}

Result<Cost> run_program(const Program& program) {
  SLUICE_LET(process, Process::start(program));
  return process.finish();
}

Result<Cost> cost_of_tree(const std::function<Status()>& work,
                          const std::function<Status()>& after) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const MonoTime began = system_clock().mono();
  const double cpu_before = cpu_of_children();
  Status status = work();
  const double wall = seconds_since(began);
  // Even if it failed: nothing is left behind.
  if (after)
    if (const Status ended = after(); status.ok()) status = ended;
  if (const Status ended = wait_for_tree(); status.ok()) status = ended;
  SLUICE_TRY(status);
  return Cost{.wall_seconds = wall, .cpu_seconds = cpu_of_children() - cpu_before};
}

Status wait_for_tree() {
  const MonoTime until = system_clock().mono() + kPatience;
  bool killed = false;
  for (;;) {
    // Not a wait for ever, and yet the end is noticed at once while processes end all the time.
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == ECHILD) break;
    if (pid != 0) continue;
    if (system_clock().mono() >= until) {
      killed = true;
      kill_children();
    }
    system_clock().sleep_for(500us, {});
  }
  if (killed) return {Code::deadline_exceeded, "processes were left over; they are killed"};
  return {};
}

}  // namespace sluice::bench
