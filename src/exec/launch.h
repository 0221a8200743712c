// SPDX-License-Identifier: MIT
// The moment between our process and a new program.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sluice::exec {

/// What the new process does, in order, before the program runs.
enum class Step : std::uint8_t {
  create,
  session,
  death_signal,
  input,
  output,
  kept,
  descriptors,
  directory,
  program,
};

/// Everything the new process needs, made before it exists: it shares our memory while our thread
/// stands still, so it must neither allocate nor lock. Lists end with a null pointer.
struct LaunchPlan {
  const char* const* candidates;  ///< The paths to try, in this order.
  char* const* argv;
  /// "/bin/sh", a place for the path of a script, and what follows the program in `argv`.
  char** shell_argv;
  char* const* env;
  const char* cwd;  ///< Null: as it is.
  int output;       ///< -1: /dev/null.
  int kept;         ///< -1: none.
};

struct Launched {
  pid_t pid = -1;
  int pidfd = -1;                 ///< Closed at exec. Owned by the caller if `error` is 0.
  int error = 0;                  ///< The errno of what failed; nothing is left to reap then.
  Step step = Step::create;       ///< What failed.
  const char* culprit = nullptr;  ///< The one of the candidates that may not be run.
};

/// Starts a process as the plan says. Returns when its program is loaded, or has failed to be.
Launched launch(const LaunchPlan& plan);

}  // namespace sluice::exec
