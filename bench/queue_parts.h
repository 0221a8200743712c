// SPDX-License-Identifier: MIT
// The parts of bench_queue. Each measures some promises in its own directories and adds its rows.
#pragma once

#include <sluice/result.h>

#include <string>
#include <vector>

#include "bench.h"
#include "report.h"

namespace sluice::bench {

struct QueuePart {
  const ScratchDir& scratch;
  bool quick = false;
  Report& report;
};

/// Batches of 256 against a loop on LMDB that writes the same bytes.
Status measure_batches(const QueuePart& part);
/// 64 threads that each do one thing at a time, against one.
Status measure_threads(const QueuePart& part);
/// Groups at their limit, and limits that groups run into.
Status measure_groups_at_limit(const QueuePart& part);
Status measure_limited_groups(const QueuePart& part);
/// Many jobs: ready, with random ids, scheduled; opening, counting, memory.
Status measure_backlog(const QueuePart& part);
/// Claimers in several processes, on an engine where they can collide.
Status measure_conflicts(const QueuePart& part);

/// The other process of measure_backlog(), the program's hidden command.
inline constexpr const char* kMemoryCommand = "child-memory";
Status memory_process(const std::vector<std::string>& args);

}  // namespace sluice::bench
