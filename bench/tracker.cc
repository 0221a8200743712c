// SPDX-License-Identifier: MIT
// bench_tracker: retracker under load, beside opentracker, and its swarms alone.
#include <string>
#include <vector>

#include "child.h"
#include "tracker_parts.h"
#include "tracker_upstreams.h"

namespace sluice::bench {
namespace {

constexpr NamedPart kParts[] = {{"swarms", measure_swarms},   {"udp", measure_udp},
                                {"http", measure_http},       {"timers", measure_timers},
                                {"forward", measure_forward}, {"together", measure_together}};

Benchmark benchmark() {
  return {.name = "tracker",
          .parts = kParts,
          .quick_note = "Quick: fewer announces and rounds; the swarms are the same."};
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty() || args[0] != kUpstreamsCommand) return run(benchmark(), args);
  die_with_parent();
  return exit_code_of(benchmark(), upstreams_process(args));
}
