// SPDX-License-Identifier: MIT
#include <algorithm>
#include <deque>
#include <memory>

#include "queue/agenda.h"
#include "queue/lanes.h"
#include "queue/maintain.h"
#include "queue/names.h"
#include "queue/picker.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

constexpr std::size_t kReviewMax = 1'000;

using Pickers = std::deque<Picker>;

/// Whether `a` is handed out before `b`, of two queues' next jobs.
bool comes_before(const JobState& a, const JobState& b) {
  if (a.record.priority != b.record.priority) return a.record.priority < b.record.priority;
  return a.place < b.place;
}

/// The queue whose next job comes first; null if none has one.
Result<Picker*> pick(Pickers& pickers) {
  Picker* best = nullptr;
  const JobState* best_job = nullptr;
  for (Picker& picker : pickers) {
    SLUICE_LET(job, picker.look());
    if (job == nullptr) continue;
    if (best_job != nullptr && !comes_before(*job, *best_job)) continue;
    best = &picker;
    best_job = job;
  }
  return best;
}

Result<std::vector<Lease>> take(Steps& steps, Pickers& pickers, const Taker& taker,
                                std::size_t& bytes_left) {
  std::vector<Lease> leases;
  while (leases.size() < taker.jobs_max && bytes_left > 0) {
    SLUICE_LET(picker, pick(pickers));
    if (picker == nullptr) break;
    const Duration lease = taker.lease.value_or(picker->queue().config().lease);
    SLUICE_LET(job, picker->take_it(lease, taker.worker));
    if (!job) continue;
    SLUICE_LET(made, make_lease(steps, *job));
    bytes_left -= std::min(bytes_left, made.payload.size());
    leases.push_back(std::move(made));
  }
  return leases;
}

/// What claimers do for everybody on the way: ends leases and readies due jobs.
Result<bool> maintain(Steps& steps, Picker& picker) {
  bool moved = false;
  for (const std::uint32_t shard : picker.shards_opened()) {
    SLUICE_LET(lapsed, end_leases(steps, picker.queue(), shard, kClaimMovesMax));
    SLUICE_LET(due, ready_due(steps, picker.queue(), shard, kClaimMovesMax));
    moved = moved || lapsed > 0 || due > 0;
  }
  SLUICE_LET(reviewed, review_blocked(steps, picker.queue(), kReviewMax));
  SLUICE_LET(work, work_agenda(steps, picker.queue(), kClaimMovesMax));
  return moved || reviewed > 0 || work.total() > 0;
}

}  // namespace

Result<Lease> make_lease(Steps& steps, const JobState& job) {
  SLUICE_LET(payload, read_payload(steps.txn(), job.queue->keys, job.number, job.record));
  return Lease{.queue = job.queue->record.name,
               .id = job.record.id,
               .group = job.record.group,
               .payload = std::move(payload),
               .token = {.job = job.number.mark(), .claim = job.record.claims},
               .deadline = to_wall(job.record.deadline),
               .attempt = job.record.attempts,
               .priority = job.record.priority,
               .batch = job.record.batch,
               .schedule = job.record.schedule,
               .planned = planned_of(job.record)};
}

Result<ClaimOutcome> claim(Steps& steps, const ClaimPlan& plan) {
  std::set<Bytes16> skip;
  for (const auto& group : plan.skip_groups) skip.insert(hash_of(group));
  std::size_t wanted = 0;
  for (const Taker& taker : plan.takers) wanted += taker.jobs_max;

  Pickers pickers;
  for (const auto& name : plan.queues) {
    SLUICE_LET(queue, steps.find_queue(name));
    if (queue == nullptr || queue->record.paused) continue;
    pickers.emplace_back(steps, *queue, skip, wanted);
    SLUICE_TRY(pickers.back().open());
  }

  ClaimOutcome outcome;
  std::size_t bytes_left = kClaimBytesMax;
  std::size_t taken = 0;
  for (const Taker& taker : plan.takers) {
    SLUICE_LET(leases, take(steps, pickers, taker, bytes_left));
    taken += leases.size();
    outcome.leases.push_back(std::move(leases));
  }
  for (Picker& picker : pickers) {
    SLUICE_TRY(picker.close());
    SLUICE_LET(moved, maintain(steps, picker));
    outcome.moved = outcome.moved || moved || picker.made_way();
    if (taken > 0 || outcome.moved) continue;
    keep_earliest(outcome.next, picker.rate_ready());
    SLUICE_LET(next, next_claimable(steps.txn(), picker.queue().keys, picker.queue().config()));
    keep_earliest(outcome.next, next);
  }
  return outcome;
}

}  // namespace sluice::queue
