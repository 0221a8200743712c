// SPDX-License-Identifier: MIT
// The program that the crash tests of the queues start, kill and trace: each command is one role.
#pragma once

#include <sluice/queue.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/actor.h"

namespace sluice::test {

/// A store and its queues.
struct Opened {
  std::unique_ptr<kv::Store> store = {};
  std::unique_ptr<queue::Queues> queues = {};
};
/// Opens both or ends the process with exit code 3 and the reason on standard error.
Opened open_or_exit(const std::string& dir, const Clock& clock = system_clock());
/// Ends the process with exit code 4 and the reason unless `status` is ok.
void must(const Status& status, const char* doing);

/// Each returns the exit code.

/// DIR NOTES PENDING SEED: says "going" once the queues are set up, makes the calls noted in
/// PENDING again, then works for ever, in several threads.
int run_work(const Words& words);
/// DIR: prints VerifyReport::to_json(), and ends with its exit code.
int run_verify(const Words& words);
/// DIR: says "open_us N"; the same as verify, as "verify JSON" if it is not clean; and every job,
/// as decode_seen() reads it, and what judge_batches() finds. The exit code says whether all of it
/// could be read.
int run_check(const Words& words);
/// DIR: takes limits and holds away, keeps what is done, and works until nothing is left to do.
/// Says "claimed QUEUE ID" for each job it acks, with kDrained as its result.
int run_drain(const Words& words);
/// DIR: removes all that is finished, which must be all there is.
int run_purge(const Words& words);
/// DIR NOTES SEED CLOCK END_MS: one client among many until the MonoTime END_MS; CLOCK is a file
/// that says how wrong the wall clock is.
int run_client(const Words& words);
/// DIR NOTES CLOCK: says "going" once it has opened the store; after a line of input acks whatever
/// is left, as a client.
int run_finish(const Words& words);

// Of the flows, as flow_plan.h names them. All but the last end by themselves.

/// DIR SEED: acks the job that all others wait for, and sweeps and claims until none waits.
int run_release(const Words& words);
/// DIR SEED: acks the members of the batch, saying "acked N" each time, and seals it on the way.
int run_members(const Words& words);
/// DIR SEED: cancels the batch, and sweeps and claims until it has ended. A claim must get nothing.
int run_drop(const Words& words);
/// DIR CLOCK: sweeps for ever. Says "going", then "fired" for each job that its sweep enqueued.
int run_fire(const Words& words);

}  // namespace sluice::test
