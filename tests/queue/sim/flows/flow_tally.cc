// SPDX-License-Identifier: MIT
#include "tests/queue/sim/flows/flow_tally.h"

#include "tests/support/run_size.h"

namespace sluice::queue::sim {
namespace {

constexpr std::array<const char*, kFlowProbeCount> kNames = {
    "enqueue rejected for its unique key",
    "enqueue answered with the holder of its key",
    "holder of a key cancelled and replaced",
    "leased holder of a key not replaced",
    "key held by its window alone",
    "key given back and taken again",
    "job back in a declared lane without its key",
    "requeue refused for its unique key",
    "job released by the success of those it waited for",
    "job released by the end of a failed one",
    "job cancelled because one it waited for failed",
    "cancellation went on to the next in the chain",
    "job orphaned",
    "job that is waited for requeued",
    "a hundred jobs waiting for one",
    "one job waiting for a hundred",
    "job waiting for one of another queue",
    "job made to wait for more",
    "job waiting at the end for one that is dead",
    "held job waiting",
    "enqueue refused because it would be cancelled at once",
    "enqueue refused because a job to wait for is gone",
    "batch succeeded",
    "batch ended with failures",
    "batch cancelled",
    "empty batch ended",
    "batch grew after its seal by a member's ack",
    "job refused by a sealed batch",
    "callback not enqueued because its id was taken",
    "member requeued before the end of its batch",
    "leased member cancelled with its batch",
    "member requeued after the end of its batch",
    "batch forgotten",
    "schedule fired",
    "schedule fired once for many missed times",
    "schedule run by hand",
    "schedule skipped a run",
    "schedule paused past a planned time",
    "schedule fired by a claim",
    "follower told of a gap",
    "follower caught up",
    "page ended within a commit",
    "follower began with the oldest event",
    "unknown commit of a flow that had applied settled by its operation id",
    "unknown commit of a flow that had not applied settled by its operation id",
    "operation of a flow repeated",
    "flows of two clients conflicted",
    "crash after a commit of a flow",
    "wall clock stepped",
    "schedule of a paused queue fired",
    "job to wait for finished in the same transaction",
};

}  // namespace

std::vector<std::string> FlowTally::missed() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kFlowProbeCount; ++i)
    if (probes[i] == 0) names.emplace_back(kNames[i]);
  return names;
}

void FlowTally::print() const {
  const auto figure = [](const std::string& name, std::uint64_t value) {
    test::print_figure("queue.sim.flows." + name, value);
  };
  figure("seeds", seeds);
  figure("steps", steps);
  figure("transactions", transactions);
  figure("moves", moves);
  figure("jobs", jobs);
  figure("batches", batches);
  figure("fired", fired);
  figure("simulated_hours", simulated_ns / 3'600'000'000'000);
  figure("crashes", crashes);
  figure("verifies", verifies);
  figure("probes_hit", kFlowProbeCount - missed().size());
  figure("probes", kFlowProbeCount);
  figure("violations", violations);
}

}  // namespace sluice::queue::sim
