// SPDX-License-Identifier: MIT
// The parts of bench_kv. Each measures one promise in its own directory and adds its rows.
#pragma once

#include <sluice/result.h>

#include <string>
#include <vector>

#include "bench.h"
#include "report.h"

namespace sluice::bench {

struct Part {
  const ScratchDir& scratch;
  bool quick = false;
  Report& report;
};

/// 64 callers in one process against one, and against LMDB without Sluice; reads likewise.
Status measure_groups(const Part& part);
/// Two processes that write to one store at the same time.
Status measure_two_processes(const Part& part);
/// How soon a waiter in another process wakes up, and how often one wakes up for nothing.
Status measure_doorbell(const Part& part);

/// The other process of a part. These are the program's hidden commands.
inline constexpr const char* kWriterCommand = "child-writer";
inline constexpr const char* kWaiterCommand = "child-waiter";
Status writer_process(const std::vector<std::string>& args);
Status waiter_process(const std::vector<std::string>& args);

}  // namespace sluice::bench
