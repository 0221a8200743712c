// SPDX-License-Identifier: MIT
#include "child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>

namespace sluice::bench {

Result<Child> Child::spawn(const std::vector<std::string>& args) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return error(Code::io_error, "cannot make a pipe");
  File output(fdopen(pipe_ends[0], "r"));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  std::vector<std::string> words = {"bench"};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int rc = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (rc != 0)
    return error(Code::io_error, std::string("cannot start a process: ") + std::strerror(rc));
  return Child(pid, std::move(output));
}

Child::~Child() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<std::vector<std::int64_t>> Child::numbers(std::size_t count) {
  std::array<char, 512> line{};
  if (std::fgets(line.data(), static_cast<int>(line.size()), output_.get()) == nullptr)
    return error(Code::unavailable, "the second process has ended early");
  std::istringstream words(line.data());
  std::vector<std::int64_t> found;
  for (std::int64_t number = 0; words >> number;) found.push_back(number);
  if (found.size() != count)
    return error(Code::corrupt, std::string("unexpected from the second process: ") + line.data());
  return found;
}

Status Child::finish() {
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return {Code::unavailable, fmt::format("the second process has failed (status {})", status)};
}

void tell_parent(const std::vector<std::int64_t>& numbers) {
  fmt::print("{}\n", fmt::join(numbers, " "));
  std::fflush(stdout);
}

void die_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace sluice::bench
