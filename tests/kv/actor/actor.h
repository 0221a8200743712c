// SPDX-License-Identifier: MIT
// The program that the crash tests start, kill, trace and record: each command is one role.
#pragma once

#include <sluice/kv.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/actor.h"

namespace sluice::test {

/// The size of every store here. Not small: a reader that gets no turn on a busy machine keeps
/// hundreds of pages per millisecond from being used again.
inline constexpr std::uint64_t kMapBytes = 256 << 20;

/// Opens the store or ends the process with exit code 3 and the reason on standard error.
std::unique_ptr<kv::Store> open_or_exit(const std::string& dir,
                                        const Clock& clock = system_clock());

/// Each returns the exit code.

/// DIR NOTES FIRST_LANE LANES COUNT SEED: says "ready" once the store is open, posts COUNT
/// times (0: for ever) on each of the lanes, one thread each.
int run_work(const Words& words);
/// DIR TRUTH MORE: opens the store and checks the ledger; then makes MORE postings on lane 0 and
/// checks again. Says "open_us N", "last LANE NUMBER" for each lane and "breach KIND TEXT".
int run_check(const Words& words);
/// DIR NOTES: opens the store and makes 30 postings on lane 0, some of which drain. Goes on
/// whatever happens; says "begin", "CALL CODE" for every call, and "end".
int run_script(const Words& words);
/// DIR NOTES: posts without trimming until the store is full, and some more; says "full CODE";
/// rings and reads a lot, and says "mapped CODE"; after a line of input posts 20 times more and
/// says "CALL CODE" for each.
int run_fill(const Words& words);
/// DIR: is killed by its own hand in the middle of a transaction that has written.
int run_die_inside(const Words& words);
/// DIR: says "holding" from inside a read transaction, which it keeps until its input ends.
int run_hold_read(const Words& words);
/// DIR KEY BELL: commits one write and rings BELL, unless that is "-".
int run_commit_one(const Words& words);
/// DIR TARGET: says "begin" once the store is open, and "copy CODE".
int run_copy(const Words& words);
/// DIR: says "begin" and "compact CODE".
int run_compact(const Words& words);
int run_restore(const Words& words);
/// DIR ROUNDS: answers each "ping" with a "pong". Says how often it waited in vain.
int run_pong(const Words& words);
/// DIR AHEAD_S: opens the store with a wall clock that is so many seconds ahead (or behind), and
/// says "ready"; answers each line of input with the store's time in nanoseconds.
int run_tell_time(const Words& words);
/// LOG MODE SEED TARGET BEGIN DIR PART: see power_cut/check_images.cc.
int run_images(const Words& words);

}  // namespace sluice::test
