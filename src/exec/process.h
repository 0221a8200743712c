// SPDX-License-Identifier: MIT
// Runs a program in a session and a process group of its own. Linux only.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace sluice::exec {

/// Where a program finds the descriptor that Command::kept gave it.
inline constexpr int kKeptFd = 3;

/// What to run. No text may hold a NUL byte; every other byte arrives as it is.
struct Command {
  /// The program and its arguments. A program without a slash is looked for in the PATH of `env`,
  /// or in /bin:/usr/bin if that has none. A file without a header that the kernel knows is run by
  /// /bin/sh, as execvp() does.
  std::vector<std::string> argv = {};
  /// "NAME=value": the whole environment, nothing is inherited.
  std::vector<std::string> env = {};
  /// Empty: ours. Relative programs and relative parts of PATH are looked for from here.
  std::string cwd = {};
  /// Becomes standard output and standard error; -1: /dev/null. Borrowed during start().
  int output = -1;
  /// Becomes descriptor kKeptFd: a lock that is free when the last process of the tree has gone.
  /// -1: none. Borrowed during start().
  int kept = -1;
};

/// What a process and those of its children that it waited for used.
struct Usage {
  Duration user{};
  Duration system{};
  /// The most memory that one of them had. Linux counts the moment before the program was loaded,
  /// so this is never less than the peak of the process that called start().
  std::uint64_t rss_bytes_max = 0;
};

struct Ending {
  int exit_code = -1;  ///< -1 if a signal ended it.
  int signal = 0;      ///< 0 if it ended by itself.
  Usage usage;
};

/// A running program, or one that has ended and whose ending is known.
///
/// Lifecycle: start(), then reap() whenever pidfd() is readable, until it tells an ending; that
/// also ends what is left of the process group. A Process that goes away earlier kills its group.
///
/// The thread that called start() must live as long as the program shall: Linux kills the program
/// (not its children) with that thread. This is what ends it when our process is killed. A program
/// that is set-user-ID, or has file capabilities, is spared.
///
/// Nobody else may reap it: SIGCHLD must not be ignored, and nothing may wait for "any child".
///
/// Not thread-safe; different objects may be used by different threads at once.
class Process {
 public:
  /// The program runs as leader of a new session and group, with an empty signal mask and default
  /// signal actions, standard input from /dev/null, and no descriptor but 0, 1, 2 and, if given,
  /// kKeptFd. The user, the limits, the umask and the controlling cgroup are ours.
  ///
  /// Does not wait for the program to be loaded; if it cannot be, reap() tells why. Fails with
  ///   invalid_argument   no program; a NUL byte; an `env` without "=";
  ///   unavailable        no processes, descriptors or memory left.
  /// Costs less than posix_spawn(): it copies no memory of ours, and does not stand still.
  static Result<Process> start(Command command);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  /// If it has not been reaped: kills the group with SIGKILL, and waits for the program's end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// To every process of the group, while the program has not been reaped; nothing afterwards,
  /// because the number may be another's by then. `number` is a valid signal (checked).
  void signal(int number) const;

  /// Nothing as long as the program runs; never blocks. Once it has ended: kills what is left of
  /// its group, and tells the ending, again at each further call. Fails with io_error if somebody
  /// else reaped it; the Process is then over. If the program could not be loaded, so that nothing
  /// ran, never_ran() is true and this fails with
  ///   invalid_argument   too long for the kernel; `cwd` is no directory;
  ///   not_found          no such program, or no such directory `cwd`;
  ///   permission_denied  the program may not be run, or `cwd` not be entered;
  ///   unavailable        no descriptors or memory left;
  ///   io_error           anything else; the message names the step.
  Result<std::optional<Ending>> reap();
  /// Blocks until there is an ending, or a failure as above.
  Result<Ending> wait();
  /// Whether the failure that reap() told is that of the launch.
  bool never_ran() const { return !launch_failure_.ok(); }

  /// The program, and its session and group. Another's number, perhaps, once it was reaped.
  pid_t pid() const { return pid_; }
  /// poll() finds it readable once the program has ended. Borrowed: lives as long as this.
  int pidfd() const { return pidfd_.get(); }
  /// The ending is known or lost: nothing more is to be done about it.
  bool reaped() const { return pid_ <= 0 || over_; }

 private:
  struct Launching;
  explicit Process(std::unique_ptr<Launching> launching);

  Result<std::optional<Ending>> look(int waiting);
  void collect();
  void end();

  pid_t pid_ = -1;
  Descriptor pidfd_;
  bool over_ = false;                     // The number is no longer ours.
  std::unique_ptr<Launching> launching_;  // The process may use it until it was reaped.
  std::optional<Ending> ending_;
  Status launch_failure_;
};

}  // namespace sluice::exec
