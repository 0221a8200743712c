// SPDX-License-Identifier: MIT
// Deterministic simulation of the queue layer: thousands of seeds, each a small world of clients,
// workers, operators and faults, judged by an oracle after every call, and drained at its end.
//
//   SLUICE_SEED=17 queue_sim_test --gtest_filter=Sim.seeds_of_the_first_quarter
//
// repeats one seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/queue/sim/tally.h"
#include "tests/queue/sim/world.h"
#include "tests/support/run_size.h"

namespace sluice::queue::sim {
namespace {

using test::RunSize;

constexpr std::uint64_t kParts = 4;
constexpr std::uint64_t kTwiceEvery = 50;
constexpr unsigned kSteps = 120;
// Below this many seeds it is chance whether every rare situation has come up.
constexpr std::uint64_t kProbesFrom = 700;
constexpr std::uint64_t kViolationsShown = 3;

struct Ran {
  std::uint64_t hash = 0;
  bool good = false;
};

Ran run_seed(std::uint64_t seed, Tally& tally, const std::string& filter) {
  World world(seed, tally);
  world.run(kSteps);
  if (!world.violation()) return {world.trace().hash(), true};
  if (tally.violations <= kViolationsShown)
    ADD_FAILURE() << world.trace().last() << "seed " << seed << ": " << *world.violation()
                  << "\nrun again: SLUICE_SEED=" << seed
                  << " queue_sim_test --gtest_filter=" << filter;
  else
    ADD_FAILURE() << "seed " << seed << ": " << *world.violation();
  return {world.trace().hash(), false};
}

void run_part(std::uint64_t part, const std::string& filter) {
  Tally tally;
  Tally ignored;
  std::uint64_t first = 1;
  std::uint64_t count = RunSize{200, test::kSanitized ? 200U : 3'200U, 50'000}.pick() / kParts;
  if (const char* seed = std::getenv("SLUICE_SEED")) {
    first = std::strtoull(seed, nullptr, 10);
    count = 1;
  } else {
    first += part * 1'000'000;
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Ran once = run_seed(seed, tally, filter);
    if (!once.good || (seed % kTwiceEvery != 0 && count > 1)) continue;
    const Ran again = run_seed(seed, ignored, filter);
    EXPECT_EQ(once.hash, again.hash) << "two runs of seed " << seed << " are not the same";
  }
  tally.print("." + std::to_string(part + 1));
  if (count < kProbesFrom) return;
  for (const std::string& name : tally.missed()) ADD_FAILURE() << "never happened: " << name;
}

TEST(Sim, seeds_of_the_first_quarter) {
  run_part(0, "Sim.seeds_of_the_first_quarter");
}
TEST(Sim, seeds_of_the_second_quarter) {
  run_part(1, "Sim.seeds_of_the_second_quarter");
}
TEST(Sim, seeds_of_the_third_quarter) {
  run_part(2, "Sim.seeds_of_the_third_quarter");
}
TEST(Sim, seeds_of_the_last_quarter) {
  run_part(3, "Sim.seeds_of_the_last_quarter");
}

}  // namespace
}  // namespace sluice::queue::sim
