// SPDX-License-Identifier: MIT
#include "tests/support/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace sluice::test {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void close_if_open(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

std::string Exit::to_string() const {
  return signal != 0 ? "signal " + std::to_string(signal) : "exit code " + std::to_string(code);
}

Child::Child(std::vector<std::string> words, std::vector<std::string> environment) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  SLUICE_CHECK(pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0);
  // The new words come first: getenv() of the child finds those.
  for (char** word = environ; *word != nullptr; ++word) environment.emplace_back(*word);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int rc = posix_spawnp(&pid_, words[0].c_str(), &actions, nullptr, pointers_to(words).data(),
                              pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  SLUICE_CHECK(rc == 0);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      buffer_(std::move(other.buffer_)) {}

Child::~Child() {
  kill();
  wait();
}

void Child::kill() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

Exit Child::wait() {
  close_if_open(input_);
  close_if_open(output_);
  if (pid_ <= 0) return {};
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) return {.code = -1, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

std::optional<std::string> Child::read_line() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    std::array<char, 65536> chunk;
    const ssize_t count = ::read(output_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

std::vector<std::string> Child::read_lines() {
  std::vector<std::string> lines;
  while (auto line = read_line()) lines.push_back(std::move(*line));
  return lines;
}

void Child::write_line(const std::string& line) const {
  const std::string text = line + "\n";
  // A child that is gone already shows in its exit; SIGPIPE must not end the test.
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  [[maybe_unused]] const ssize_t written = ::write(input_, text.data(), text.size());
  sigaction(SIGPIPE, &before, nullptr);
}

void Child::close_input() {
  close_if_open(input_);
}

}  // namespace sluice::test
