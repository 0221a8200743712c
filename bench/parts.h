// SPDX-License-Identifier: MIT
// A benchmark that has parts: all of them in turn, or one with --only.
#pragma once

#include <sluice/result.h>

#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "report.h"

namespace sluice::bench {

/// What a part gets to work with: it measures in directories of its own and adds its rows.
struct Part {
  const ScratchDir& scratch;
  bool quick = false;
  Report& report;
};

struct NamedPart {
  const char* name;
  Status (*measure)(const Part& part);
};

struct Benchmark {
  std::string name = {};  ///< "queue" of bench_queue.
  std::span<const NamedPart> parts = {};
  std::string quick_note = {};  ///< What a quick run leaves out, in one sentence.
};

/// 0, or 2 after saying what is broken.
int exit_code_of(const Benchmark& benchmark, const Status& status);
/// The exit code: 0, 1 if a target is missed, 2 if it cannot run.
int run(const Benchmark& benchmark, std::vector<std::string> args);

}  // namespace sluice::bench
