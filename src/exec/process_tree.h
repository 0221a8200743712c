// SPDX-License-Identifier: MIT
// Finds and ends what is left of process trees whose parent has died. Linux only; needs /proc, and
// sees the processes of this pid namespace that the caller may inspect (its own user's; root: all).
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exec/lock_file.h"

namespace sluice::exec {

/// How the processes of one tree are told from others. A process belongs to it if
/// - its environment, as it was when it was started, has the entry `env`; or
/// - one of its descriptors holds `lock`; or
/// - it is in the session `session`, or in that of another one that belongs.
/// So one that took a session of its own, cleared its environment *and* closed the lock is not
/// found.
struct TreeMark {
  /// "NAME=value". Must be of this tree alone: whoever has it is killed.
  std::string env;
  /// The place in the LockFile. The caller must not hold it.
  std::uint64_t lock = 0;
  /// The session that its first process was started in, if that was noted. Its number may be
  /// another's by now: it counts unless a process of that number lives that was started at another
  /// time. (No process gets the number while any is left in the session.)
  struct Session {
    pid_t id = 0;           ///< 0: not known.
    MonoTime started = {};  ///< As Clock::mono() told it when the process was started.
  };
  Session session = {};
};

/// The living processes that belong to any of the trees, sorted. Never the caller; and those of the
/// caller's own session only if they themselves have the entry or the lock. A zombie does not live.
/// Fails with invalid_argument if an `env` has no name or no "=", and with unavailable if /proc
/// cannot be read. One pass over /proc for all marks: some 40 microseconds per process of the
/// machine, more for one with many descriptors. It is a picture of a moving thing: a process that
/// is just being loaded, or started behind its back, may be missing; end_trees() looks again.
Result<std::vector<pid_t>> find_trees(const LockFile& locks, std::span<const TreeMark> marks);

/// Kills what find_trees() finds with SIGKILL, again and again, until it finds nothing and every
/// lock is free. Fails as find_trees() does; and, `patience` after the call, with unavailable that
/// names the processes that would not go, or the lock if its holder cannot be seen from here. At
/// least one attempt is made, however short the patience. Nothing to end is success.
Status end_trees(const LockFile& locks, std::span<const TreeMark> marks, const Clock& clock,
                 Duration patience);

/// Whether one of the descriptors of process `pid` holds the lock: proof, at this moment, that this
/// is the process that was given it, and not a later one of the same number. False also if there is
/// no such process, or the caller may not inspect it.
bool holds_lock(pid_t pid, const LockFile& locks, std::uint64_t place);

}  // namespace sluice::exec
