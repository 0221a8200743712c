// SPDX-License-Identifier: MIT
// bench_queue: what a job's life costs on a real disk, beside LMDB without Sluice in the same run,
// and how little that depends on how much else there is in the queue.
#include <string>
#include <vector>

#include "child.h"
#include "queue_parts.h"

namespace sluice::bench {
namespace {

constexpr NamedPart kParts[] = {{"batches", measure_batches},
                                {"threads", measure_threads},
                                {"groups-at-limit", measure_groups_at_limit},
                                {"limited-groups", measure_limited_groups},
                                {"backlog", measure_backlog},
                                {"conflicts", measure_conflicts}};

Benchmark benchmark() {
  return {.name = "queue",
          .parts = kParts,
          .quick_note = "Quick: a large backlog is 100k jobs here, not 1M."};
}

int run_child(const std::vector<std::string>& args) {
  die_with_parent();
  return exit_code_of(benchmark(), memory_process({args.begin() + 1, args.end()}));
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  const std::vector<std::string> args(argv + 1, argv + argc);
  return !args.empty() && args[0] == kMemoryCommand ? run_child(args) : run(benchmark(), args);
}
