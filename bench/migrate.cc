// SPDX-License-Identifier: MIT
// bench_migrate: sluice-migrate beside the tools that people use for the same, and beside a bare
// walk of the same trees. Trees are on tmpfs, so that no disk is measured but the ledger's.
#include <string>
#include <vector>

#include "child.h"
#include "migrate_ground.h"
#include "migrate_parts.h"

namespace sluice::bench {
namespace {

constexpr NamedPart kParts[] = {{"pair", measure_pair}, {"million", measure_million},
                                {"wide", measure_wide}, {"chain", measure_chain},
                                {"copy", measure_copy}, {"sim", measure_sim}};

Benchmark benchmark() {
  return {.name = "migrate",
          .parts = kParts,
          .quick_note =
              "Quick: a tenth of the files (a thirtieth of the simulated ones), and three "
              "rounds, not five: starts and ends weigh more."};
}

int run_child(Status (*process)(const std::vector<std::string>&), std::vector<std::string> args) {
  die_with_parent();
  args.erase(args.begin());
  return exit_code_of(benchmark(), process(args));
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args[0] == kWalkerCommand) return run_child(walker_process, args);
  if (!args.empty() && args[0] == kGrowCommand) return run_child(grow_process, args);
  clean_up_when_interrupted();
  return run(benchmark(), args);
}
