// SPDX-License-Identifier: MIT
// The parts of bench_queuectl.
#pragma once

#include <string>
#include <vector>

#include "parts.h"

namespace sluice::bench {

/// A list of short jobs run to its end, two at a time, beside a bare loop and four other tools.
Status measure_drain(const Part& part);
/// One `queuectl enqueue`, beside a static program that writes and syncs a page; then many jobs.
Status measure_enqueue(const Part& part);
/// From the end of an enqueue to the start of its job, and what a worker without work uses.
Status measure_latency(const Part& part);
/// A store whose jobs are nearly all finished: a look at it, and draining a few jobs beside them.
Status measure_status(const Part& part);

/// The other process of `drain`: a hidden command. Arguments: a directory for the output of the
/// jobs, and how many. Runs `sh -c true` so often, two at a time, each in a process group of its
/// own.
inline constexpr const char* kBareLoopCommand = "child-bare-loop";
Status bare_loop_process(const std::vector<std::string>& args);

}  // namespace sluice::bench
