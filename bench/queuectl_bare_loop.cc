// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "queuectl_parts.h"

namespace sluice::bench {
namespace {

constexpr int kAtOnce = 2;

Status start_job(const std::string& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  char* argv[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("true"),
                  nullptr};
  pid_t pid = -1;
  const int rc = posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (rc == 0) return {};
  return {Code::io_error, std::string("cannot start a process: ") + std::strerror(rc)};
}

}  // namespace

Status bare_loop_process(const std::vector<std::string>& args) {
  const int jobs = std::stoi(args.at(1));
  int running = 0;
  for (int started = 0; started < jobs || running > 0;) {
    while (started < jobs && running < kAtOnce) {
      SLUICE_TRY(start_job(fmt::format("{}/{}.log", args.at(0), started)));
      ++started;
      ++running;
    }
    int status = 0;
    if (waitpid(-1, &status, 0) < 0 || status != 0)
      return {Code::unavailable, fmt::format("a job has failed (status {})", status)};
    --running;
  }
  return {};
}

}  // namespace sluice::bench
