// SPDX-License-Identifier: MIT
// Workers that are gone, and the jobs that they had.
#pragma once

#include <sluice/clock.h>
#include <sluice/queue.h>

#include <cstdint>
#include <string>
#include <vector>

#include "exec/lock_file.h"

namespace sluice::worker {

struct LiveWorker {
  queue::Worker worker = {};
  bool alive = false;
};

/// All registered workers that keep their lock in `locks`, and whether they live: the kernel frees
/// the lock of a process that ends, however it ends.
Result<std::vector<LiveWorker>> look_at_workers(queue::Queues& queues, const exec::LockFile& locks);

struct Recovered {
  std::string worker = {};
  std::vector<std::string> again = {};      ///< Jobs that will run again: ids.
  std::vector<std::string> unstarted = {};  ///< Those that it had claimed and not begun.
  std::string problem = {};  ///< Its processes would not go; nothing was given back yet.
};

/// For each worker that is gone: kills what its runs left behind, and only then gives its jobs
/// back. A run that had begun counts as a failed attempt, to be tried again at once; one that had
/// not keeps its attempts. Several processes may do this at the same time: each worker is dealt
/// with by one. `dir` is where the output files lie.
Result<std::vector<Recovered>> recover_workers(queue::Queues& queues, const exec::LockFile& locks,
                                               const std::string& dir, const Clock& clock);

}  // namespace sluice::worker
