// SPDX-License-Identifier: MIT
// The moment between our process and a new program.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace sluice::exec {

/// What the new process does, in order, before the program runs.
enum class Step : std::uint8_t {
  session,
  death_signal,
  input,
  output,
  kept,
  descriptors,
  directory,
  program,
};

/// Everything the new process needs. Lists end with a null pointer.
struct LaunchPlan {
  const char* const* candidates;  ///< The paths to try, in this order.
  char* const* argv;
  /// "/bin/sh", a place for the path of a script, and what follows the program in `argv`.
  char** shell_argv;
  char* const* env;
  const char* cwd;  ///< Null: as it is.
  int null;         ///< /dev/null, for what has nothing else.
  int output;       ///< -1: `null`.
  int kept;         ///< -1: none.
};

/// A process on its way to its program. Until that is loaded it runs in our memory, beside us: so
/// all that it needs is made before it exists, it neither allocates nor locks nor sets `errno`, and
/// this object and what the plan points to stay where they are until the process has been reaped.
class Launch {
 public:
  /// Starts a process as the plan says, and does not wait for it: 0, or the number of the error
  /// that kept the process from being made. At most once.
  int start(const LaunchPlan& plan);

  pid_t pid() const { return pid_; }
  /// Closed at exec. Owned by the caller.
  int pidfd() const { return pidfd_; }

  /// Why the program could not be loaded: the number of the error, the step, and the one of the
  /// candidates that may not be run. 0 if it was. Only once the process has been reaped.
  int error() const { return error_; }
  Step step() const { return step_; }
  const char* culprit() const { return culprit_; }

 private:
  friend struct LaunchedChild;
  // Enough for the functions of the new process: all signals are blocked, so no handler runs on it.
  static constexpr std::size_t kStackBytes = 16 * 1024;

  LaunchPlan plan_ = {};
  pid_t parent_ = -1;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  // Written by the new process.
  Step step_ = {};
  int error_ = 0;
  const char* culprit_ = nullptr;
  alignas(64) std::byte stack_[kStackBytes];
};

}  // namespace sluice::exec
