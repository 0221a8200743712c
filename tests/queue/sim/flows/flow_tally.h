// SPDX-License-Identifier: MIT
// The figures and probes of the simulated flows, beside those of the single jobs (sim/tally.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kv/fault_store.h"

namespace sluice::queue::sim {

enum class FlowProbe : std::uint8_t {
  unique_rejected,
  unique_kept,
  unique_replaced,
  unique_not_replaced_leased,
  unique_held_by_window,
  unique_taken_again,
  unique_back_without_key,
  unique_requeue_refused,
  released_by_success,
  released_by_end,
  cancelled_by_parent,
  cancelled_down_the_chain,
  orphaned,
  waited_for_requeued,
  wide_fan_out,
  wide_fan_in,
  waits_across_queues,
  waits_for_more,
  waiting_at_the_end,
  held_and_waiting,
  after_refused_conflict,
  after_gone,
  batch_succeeded,
  batch_failed,
  batch_cancelled,
  batch_empty,
  batch_grew_after_seal,
  batch_refused_job,
  batch_callback_taken,
  batch_member_requeued,
  batch_member_dropped_leased,
  batch_member_requeued_late,
  batch_forgotten,
  schedule_fired,
  schedule_fired_once_for_many,
  schedule_run_by_hand,
  schedule_skipped,
  schedule_paused_past_a_time,
  schedule_fired_by_a_claim,
  events_gap,
  events_caught_up,
  events_page_within_commit,
  events_from_the_oldest,
  operation_settled_applied,
  operation_settled_lost,
  operation_repeated,
  conflict_between_clients,
  crash_applied_seen,
  wall_clock_stepped,
  schedule_fired_while_paused,
  release_put_off,
};
inline constexpr std::size_t kFlowProbeCount = 51;

struct FlowTally {
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t transactions = 0;
  std::uint64_t moves = 0;
  std::uint64_t jobs = 0;
  std::uint64_t batches = 0;
  std::uint64_t fired = 0;
  std::uint64_t simulated_ns = 0;
  std::uint64_t crashes = 0;
  std::uint64_t verifies = 0;
  std::uint64_t violations = 0;
  std::array<std::uint64_t, kv::kFaultCount> faults{};
  std::array<std::uint64_t, kFlowProbeCount> probes{};

  void hit(FlowProbe probe) { ++probes[static_cast<std::size_t>(probe)]; }
  std::vector<std::string> missed() const;
  /// As `figure` lines, their names beginning with "queue.sim.flows".
  void print() const;
};

}  // namespace sluice::queue::sim
