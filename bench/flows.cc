// SPDX-License-Identifier: MIT
// bench_flows: what unique keys, events, dependencies, batches and schedules add to the cost of a
// job, each beside the same jobs without them in the same run.
#include <fmt/format.h>

#include <string>

#include "flows_parts.h"

namespace sluice::bench {
namespace {

constexpr NamedPart kParts[] = {{"unique", measure_unique},   {"events", measure_events},
                                {"waiting", measure_waiting}, {"dependants", measure_dependants},
                                {"members", measure_members}, {"schedules", measure_schedules}};

}  // namespace

Result<Shop> open_shop(const std::string& dir, bool events) {
  SLUICE_LET(shop, Shop::open(dir));
  SLUICE_TRY(shop.queues->configure(kQueue, {.events = events}));
  return std::move(shop);
}

std::string short_number(std::uint64_t jobs) {
  return jobs >= 1'000'000 ? fmt::format("{}M", jobs / 1'000'000) : fmt::format("{}k", jobs / 1000);
}

}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  return run({.name = "flows",
              .parts = kParts,
              .quick_note = "Quick: a tenth of the jobs where there are many."},
             {argv + 1, argv + argc});
}
