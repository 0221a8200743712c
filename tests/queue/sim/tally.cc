// SPDX-License-Identifier: MIT
#include "tests/queue/sim/tally.h"

#include <iostream>

#include "tests/support/run_size.h"

namespace sluice::queue::sim {
namespace {

constexpr std::array<const char*, kProbeCount> kProbeNames = {
    "lease expired between claim and ack",
    "ack exactly at the deadline refused",
    "stale token refused",
    "unknown commit that had applied settled by its operation id",
    "unknown commit that had not applied settled by its operation id",
    "conflict retried to success",
    "enqueue refused by a full store while an ack succeeded",
    "group limit reached and another group served past it",
    "queue active limit reached",
    "limit lowered below active",
    "limit raised unblocks",
    "retry budget spent to dead",
    "poison to dead",
    "dead requeued",
    "delayed job passing a sooner-enqueued one",
    "ttl expired",
    "sweep interrupted by a crash",
    "idempotent replay across a restart",
    "lease broken",
    "cancel of a leased job",
    "fair mode turn taken",
    "claim stole from another shard",
    "batch partially refused",
    "batch refused all or none",
    "paused queue hands out nothing",
    "enqueue refused by the backlog cap",
    "rate limit reached",
    "unsynced commit lost in a crash",
    "unsynced commit acknowledged",
    "lease extended past its first deadline",
    "released job back in its place",
    "children enqueued with an ack",
    "finished job past its retention removed",
    "lease of a lost claim lapsed",
    "wall clock stepped back",
    "wall clock stepped forward",
    "intruding transaction made another run again",
    "claim answered again under its operation id",
};

constexpr std::array<const char*, kv::kFaultCount> kFaultNames = {
    "conflict", "full",       "unknown_applied", "unknown_lost",
    "io_error", "crash_lost", "crash_applied"};

}  // namespace

const char* probe_name(Probe probe) {
  return kProbeNames[static_cast<std::size_t>(probe)];
}

std::vector<std::string> Tally::missed() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kProbeCount; ++i)
    if (probes[i] == 0) names.emplace_back(kProbeNames[i]);
  return names;
}

void Tally::print(const std::string& part) const {
  const auto figure = [&](const std::string& name, std::uint64_t value) {
    test::print_figure("queue.sim." + name + part, value);
  };
  figure("seeds", seeds);
  figure("steps", steps);
  figure("transactions", transactions);
  figure("simulated_hours", simulated_ns / 3'600'000'000'000);
  figure("crashes", crashes);
  figure("verifies", verifies);
  for (std::size_t i = 0; i < kv::kFaultCount; ++i)
    figure(std::string("faults.") + kFaultNames[i], faults[i]);
  figure("probes_hit", kProbeCount - missed().size());
  figure("probes", kProbeCount);
  figure("violations", violations);
}

}  // namespace sluice::queue::sim
