// SPDX-License-Identifier: MIT
// bench_queuectl: the command line as its users meet it, a process at a time, beside the tools they
// would use otherwise and beside a bare loop that starts the same commands and keeps no queue.
#include <string>
#include <vector>

#include "child.h"
#include "queuectl_parts.h"

namespace sluice::bench {
namespace {

constexpr NamedPart kParts[] = {{"drain", measure_drain},
                                {"enqueue", measure_enqueue},
                                {"latency", measure_latency},
                                {"status", measure_status}};

Benchmark benchmark() {
  return {.name = "queuectl",
          .parts = kParts,
          .quick_note =
              "Quick: 200 jobs are drained, not 1,000, so that starts and ends weigh more; "
              "the large store has 100k jobs, not 1M."};
}

int run_child(const std::vector<std::string>& args) {
  die_with_parent();
  return exit_code_of(benchmark(), bare_loop_process({args.begin() + 1, args.end()}));
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  const std::vector<std::string> args(argv + 1, argv + argc);
  return !args.empty() && args[0] == kBareLoopCommand ? run_child(args) : run(benchmark(), args);
}
