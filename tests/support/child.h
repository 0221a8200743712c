// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

/// How a process ended.
struct Exit {
  int code = -1;   ///< -1 if a signal ended it.
  int signal = 0;  ///< 0 if it ended by itself.

  bool clean() const { return code == 0; }
  std::string to_string() const;
};

/// A process started by this test, with pipes to its standard input and output. It never outlives
/// this object. Not thread-safe; kill() may be called from another thread while the owner reads,
/// as long as nobody waits.
class Child {
 public:
  /// `words` is the program, found on PATH, and its arguments; `environment` adds NAME=VALUE lines.
  explicit Child(std::vector<std::string> words, std::vector<std::string> environment = {});
  ~Child();
  Child(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;

  pid_t pid() const { return pid_; }
  void kill() const;
  /// Reaps it. Its output should have been read, or fit into a pipe.
  Exit wait();

  /// The next line of its output without the newline; nothing at the end.
  std::optional<std::string> read_line();
  /// All further lines.
  std::vector<std::string> read_lines();
  void write_line(const std::string& line) const;
  void close_input();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;
};

}  // namespace sluice::test
