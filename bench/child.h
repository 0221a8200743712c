// SPDX-License-Identifier: MIT
// A second process of the same program, for what can only be measured between processes.
#pragma once

#include <sluice/result.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {

/// Started with other arguments, it writes lines to its standard output, which is read here. It
/// is killed if it still runs when this object goes.
class Child {
 public:
  static Result<Child> spawn(const std::vector<std::string>& args);
  ~Child();
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)) {}
  Child& operator=(Child&&) = delete;

  pid_t pid() const { return pid_; }

  /// Waits for the next line, which must consist of `count` numbers.
  Result<std::vector<std::int64_t>> numbers(std::size_t count);
  /// Waits for its end, which must be with exit code 0.
  Status finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  Child(pid_t pid, File output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_;
  File output_;
};

/// In the child: one line for the parent's numbers().
void tell_parent(const std::vector<std::int64_t>& numbers);

/// In the child: lets the kernel end it when the parent dies.
void die_with_parent();

}  // namespace sluice::bench
