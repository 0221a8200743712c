// SPDX-License-Identifier: MIT
// Deterministic simulation of flows: unique keys, dependencies, batches, schedules and events, each
// seed a small world like those of sim_test.cc; and many short races for the end of a batch.
//
//   SLUICE_SEED=17 queue_sim_test --gtest_filter=SimFlows.seeds
//
// repeats one seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/queue/sim/flows/batch_race.h"
#include "tests/queue/sim/flows/flow_tally.h"
#include "tests/queue/sim/flows/flow_world.h"
#include "tests/support/run_size.h"

namespace sluice::queue::sim {
namespace {

using test::RunSize;

constexpr unsigned kSteps = 120;
constexpr std::uint64_t kTwiceEvery = 50;
// Below this many it is chance whether every rare situation has come up.
constexpr std::uint64_t kProbesFrom = 400;
constexpr std::uint64_t kViolationsShown = 3;

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
};

Seeds seeds(const RunSize& size) {
  if (const char* seed = std::getenv("SLUICE_SEED")) return {std::strtoull(seed, nullptr, 10), 1};
  return {1, size.pick()};
}

std::string again(std::uint64_t seed, const std::string& filter) {
  return "\nrun again: SLUICE_SEED=" + std::to_string(seed) +
         " queue_sim_test --gtest_filter=" + filter;
}

struct Ran {
  std::uint64_t hash = 0;
  bool good = false;
};

Ran run_seed(std::uint64_t seed, FlowTally& tally) {
  FlowWorld world(seed, tally);
  world.run(kSteps);
  if (!world.violation()) return {world.trace().hash(), true};
  const std::string trace = tally.violations <= kViolationsShown ? world.trace().last() : "";
  ADD_FAILURE() << trace << "seed " << seed << ": " << *world.violation()
                << again(seed, "SimFlows.seeds");
  return {world.trace().hash(), false};
}

TEST(SimFlows, seeds) {
  FlowTally tally;
  FlowTally ignored;
  const auto [first, count] = seeds({60, test::kSanitized ? 60U : 400U, 30'000});
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Ran once = run_seed(seed, tally);
    if (!once.good || (seed % kTwiceEvery != 0 && count > 1)) continue;
    const Ran twice = run_seed(seed, ignored);
    EXPECT_EQ(once.hash, twice.hash) << "two runs of seed " << seed << " are not the same";
  }
  tally.print();
  if (count < kProbesFrom) return;
  for (const std::string& name : tally.missed()) ADD_FAILURE() << "never happened: " << name;
}

TEST(SimFlows, the_callback_is_enqueued_exactly_once_in_ten_thousand_races) {
  RaceTally tally;
  std::uint64_t violations = 0;
  const auto [first, count] = seeds({2'000, 10'000, 200'000});
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto wrong = run_batch_race(seed, tally);
    if (wrong && ++violations <= kViolationsShown)
      ADD_FAILURE() << "seed " << seed << ": " << *wrong
                    << again(seed, "SimFlows.the_callback_is_enqueued_exactly_once*");
  }
  EXPECT_EQ(violations, 0u);
  test::print_figure("queue.sim.batch_races", tally.races);
  if (count == 1) return;
  for (const std::string& name : tally.missed()) ADD_FAILURE() << "never happened: " << name;
}

}  // namespace
}  // namespace sluice::queue::sim
