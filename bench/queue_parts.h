// SPDX-License-Identifier: MIT
// The parts of bench_queue. Each measures some promises in its own directories and adds its rows.
#pragma once

#include <sluice/result.h>

#include <string>
#include <vector>

#include "parts.h"

namespace sluice::bench {

/// Batches of 256 against a loop on LMDB that writes the same bytes.
Status measure_batches(const Part& part);
/// 64 threads that each do one thing at a time, against one.
Status measure_threads(const Part& part);
/// Groups at their limit, and limits that groups run into.
Status measure_groups_at_limit(const Part& part);
Status measure_limited_groups(const Part& part);
/// Many jobs: ready, with random ids, scheduled; opening, counting, memory.
Status measure_backlog(const Part& part);
/// Claimers in several processes, on an engine where they can collide.
Status measure_conflicts(const Part& part);

/// The other process of measure_backlog(), the program's hidden command.
inline constexpr const char* kMemoryCommand = "child-memory";
Status memory_process(const std::vector<std::string>& args);

}  // namespace sluice::bench
