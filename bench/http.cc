// SPDX-License-Identifier: MIT
// bench_http: sluiced under the load of wrk, beside the same server without a store and the same
// queue without HTTP.
#include <string>
#include <vector>

#include "child.h"
#include "http_parts.h"

namespace sluice::bench {
namespace {

constexpr NamedPart kParts[] = {{"push", measure_push},
                                {"batches", measure_batches},
                                {"cycles", measure_cycles},
                                {"crowded", measure_crowded_queues},
                                {"idle", measure_idle}};

Benchmark benchmark() {
  return {.name = "http",
          .parts = kParts,
          .quick_note = "Quick: 2 s of load, not 5; 100,000 jobs, not a million."};
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty() || args[0] != kBareServerCommand) return run(benchmark(), args);
  die_with_parent();
  return exit_code_of(benchmark(), bare_server_process());
}
