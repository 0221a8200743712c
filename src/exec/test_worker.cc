// SPDX-License-Identifier: MIT
// A program that runs another through a Process and is killed meanwhile, and a few programs for a
// Process to run. Says on standard output what it has done, a line each.
//   worker LOCK_FILE PLACE ENTRY WORD...  runs the words with the environment entry ENTRY and PATH,
//                                         and with the lock; says the pid; waits to be killed.
//   arguments WORD...                     prints the words, each with a NUL byte after it.
//   signals                               prints the signal mask and the ignored signals, in hex.
//   numbers FILE OUTPUT KEPT WORD...      runs the words with an output and a kept file that have
//                                         these numbers here, and with no other number below 10.
//   group WORD...                         takes a group of its own and becomes the words.
//   hydra                                 forks and ends, over and over, in the child.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "exec/lock_file.h"
#include "exec/process.h"
#include "tests/support/actor.h"

namespace sluice::exec {
namespace {

using test::say;

// A hydra that nobody ends must end by itself.
constexpr int kHeadsMax = 200'000;

int work(const std::vector<std::string>& words) {
  test::end_with_the_test(120);
  const auto locks = LockFile::open(words.at(2));
  if (!locks) return 2;
  const auto lock = locks->try_lock(std::stoull(words.at(3)));
  if (!lock || !*lock) return 3;
  Command command{
      .env = {words.at(4), "PATH=/bin:/usr/bin"}, .output = STDOUT_FILENO, .kept = (*lock)->fd()};
  command.argv.assign(words.begin() + 5, words.end());
  const auto process = Process::start(command);
  if (!process) return 4;
  say(std::to_string(process->pid()));
  for (;;) pause();
}

int print_arguments(const std::vector<std::string>& words) {
  for (std::size_t i = 2; i < words.size(); ++i)
    std::fwrite(words[i].c_str(), 1, words[i].size() + 1, stdout);
  return 0;
}

int print_signals() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:") || line.starts_with("SigIgn:")) say(line.substr(8));
  return 0;
}

int run_with_numbers(const std::vector<std::string>& words) {
  const int output = std::stoi(words.at(3));
  const int kept = std::stoi(words.at(4));
  const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  const int file = open(words.at(2).c_str(), O_RDONLY | O_CLOEXEC);
  const int high = fcntl(file, F_DUPFD_CLOEXEC, 10);
  close_range(0, 9, 0);
  dup3(out, output, O_CLOEXEC);
  dup3(high, kept, O_CLOEXEC);
  Command command{.env = {"PATH=/bin:/usr/bin"}, .output = output, .kept = kept};
  command.argv.assign(words.begin() + 5, words.end());
  auto process = Process::start(command);
  return process ? process->wait().value().exit_code : 2;
}

int become(const std::vector<std::string>& words) {
  setpgid(0, 0);
  std::vector<char*> argv;
  for (std::size_t i = 2; i < words.size(); ++i)
    argv.push_back(const_cast<char*>(words[i].c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return 1;
}

int grow_heads() {
  say("ready");
  for (int head = 0; head < kHeadsMax; ++head)
    if (const pid_t child = fork(); child != 0) _exit(child < 0);
  return 0;
}

int run(const std::vector<std::string>& words) {
  const std::string& role = words.at(1);
  if (role == "worker") return work(words);
  if (role == "arguments") return print_arguments(words);
  if (role == "signals") return print_signals();
  if (role == "numbers") return run_with_numbers(words);
  if (role == "group") return become(words);
  if (role == "hydra") return grow_heads();
  return 1;
}

}  // namespace
}  // namespace sluice::exec

int main(int argc, char** argv) {
  return sluice::exec::run(std::vector<std::string>(argv, argv + argc));
}
