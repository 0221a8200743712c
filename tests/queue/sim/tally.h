// SPDX-License-Identifier: MIT
// What many simulated runs did together: the figures, and the probes, which are rare situations
// that a run of many seeds has to have met.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kv/fault_store.h"

namespace sluice::queue::sim {

enum class Probe : std::uint8_t {
  lease_expired_before_ack,
  refused_at_the_deadline,
  stale_token_refused,
  unknown_applied_settled,
  unknown_lost_settled,
  conflict_retried,
  full_enqueue_refused_ack_accepted,
  group_limit_passed_by_another,
  active_limit_reached,
  limit_lowered_below_active,
  limit_raised_unblocks,
  attempts_spent,
  poison,
  dead_requeued,
  delayed_passes_sooner,
  ttl_expired,
  sweep_interrupted_by_crash,
  replay_across_restart,
  lease_broken,
  leased_cancelled,
  fair_turn,
  stolen_from_shard,
  batch_partly_refused,
  batch_all_or_none_refused,
  paused_queue_hands_out_nothing,
  backlog_cap_refused,
  rate_limit_reached,
  unsynced_commit_lost,
  unsynced_commit_kept,
  lease_extended,
  released_to_its_place,
  children_enqueued,
  retention_over,
  lease_lapsed_unseen,
  clock_stepped_back,
  clock_stepped_forward,
  intruder_made_conflict,
  claim_replayed,
};
inline constexpr std::size_t kProbeCount = 38;
const char* probe_name(Probe probe);

struct Tally {
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t transactions = 0;
  std::uint64_t simulated_ns = 0;
  std::uint64_t crashes = 0;
  std::uint64_t verifies = 0;
  std::uint64_t violations = 0;
  std::array<std::uint64_t, kv::kFaultCount> faults{};
  std::array<std::uint64_t, kProbeCount> probes{};

  void hit(Probe probe) { ++probes[static_cast<std::size_t>(probe)]; }
  std::vector<std::string> missed() const;
  /// As `figure` lines, their names beginning with "queue.sim" and ending with `part`.
  void print(const std::string& part) const;
};

}  // namespace sluice::queue::sim
