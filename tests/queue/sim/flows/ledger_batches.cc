// SPDX-License-Identifier: MIT
// What must hold of batches, and of the records of schedules.
#include <algorithm>

#include "tests/queue/sim/flows/ledger.h"

namespace sluice::queue::sim {
namespace {

std::string name_of(const BatchLife& batch) {
  return "batch " + batch.queue + "/" + batch.id;
}

std::uint64_t count_in(const BatchLife& batch, Lane lane) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(batch.members, [&](const Life* life) { return life->lane == lane; }));
}

bool same(const Batch& a, const Batch& b) {
  return a.ended == b.ended && a.total == b.total && a.done == b.done && a.dead == b.dead &&
         a.dropped == b.dropped && a.success_id == b.success_id && a.end_id == b.end_id &&
         a.cancelled == b.cancelled;
}

}  // namespace

bool Ledger::closed(const BatchLife& batch) {
  return batch.last && (batch.last->sealed || batch.last->ended);
}

// A callback comes once, when nothing of its batch is left to do.
void Ledger::judge_callback(const Life& life) {
  for (BatchLife& batch : batches_) {
    const bool success = life.asked->payload == callback_payload(batch.queue, batch.id, true);
    const bool end = life.asked->payload == callback_payload(batch.queue, batch.id, false);
    if (!success && !end) continue;
    ++(success ? batch.successes : batch.ends);
    if (!batch.seal_asked && !batch.cancel_asked)
      fail(name_of(batch) + ": a callback before it was sealed");
    for (const Life* member : batch.members)
      if (!member->finished())
        fail(name_of(batch) + ": a callback while " + member->id + " is " +
             lane_name(member->lane));
    if (success && count_in(batch, Lane::done) != batch.members.size())
      fail(name_of(batch) + ": the callback for success although not all succeeded");
    return;
  }
  fail("a callback of no batch: " + life.asked->payload);
}

void Ledger::look_at_batches(Queues& observer, WallTime now) {
  for (BatchLife& life : batches_) {
    // Once ended it is looked at now and then: it must not change any more.
    if (life.last && life.last->ended && tick_ % 16 != 0) continue;
    const auto batch = observer.get_batch({life.queue, life.id});
    if (!batch) {
      if (batch.error().code() != Code::not_found || !life.last) continue;
      if (!life.last->ended || now - *life.last->ended < kBatchKept)
        return fail(name_of(life) + " is gone");
      tally_.hit(FlowProbe::batch_forgotten);
      continue;
    }
    judge_batch(life, *batch);
    if (violation_) return;
    life.last = *batch;
  }
}

void Ledger::judge_batch(BatchLife& life, const Batch& batch) {
  if (life.last && life.last->ended) {
    if (!same(*life.last, batch)) fail(name_of(life) + " has changed after its end");
    return;
  }
  if (batch.sealed && !life.seal_asked && !life.cancel_asked)
    return fail(name_of(life) + ": nobody sealed it");
  if (batch.cancelled && !life.cancel_asked) return fail(name_of(life) + ": nobody cancelled it");
  if (life.last && life.last->sealed && !batch.sealed)
    return fail(name_of(life) + " is open again");
  if (batch.total != life.members.size() || batch.done != count_in(life, Lane::done) ||
      batch.dead != count_in(life, Lane::dead) || batch.dropped != count_in(life, Lane::cancelled))
    return fail(name_of(life) + ": its counts (total " + std::to_string(batch.total) + ", done " +
                std::to_string(batch.done) + ", dead " + std::to_string(batch.dead) + ", dropped " +
                std::to_string(batch.dropped) + ") are not those of its " +
                std::to_string(life.members.size()) + " members");
  if (life.last && life.last->sealed && batch.total > life.last->total)
    tally_.hit(FlowProbe::batch_grew_after_seal);
  if (batch.ended) return judge_end(life, batch);
  if (life.successes + life.ends > 0) fail(name_of(life) + ": a callback, and it has not ended");
}

void Ledger::judge_end(BatchLife& life, const Batch& batch) {
  if (!batch.sealed) return fail(name_of(life) + " ended without being sealed");
  if (batch.pending() != 0) return fail(name_of(life) + " ended with members pending");
  const bool success = batch.done == batch.total && !batch.cancelled;
  const bool taken = !batch.error.empty();
  const unsigned successes = success && life.asked.on_success ? 1 : 0;
  const unsigned ends = life.asked.on_end ? 1 : 0;
  if (taken && life.successes + life.ends < successes + ends)
    tally_.hit(FlowProbe::batch_callback_taken);
  else if (life.successes != successes || life.ends != ends)
    return fail(name_of(life) + " ended with " + std::to_string(life.successes) + " and " +
                std::to_string(life.ends) + " callbacks instead of " + std::to_string(successes) +
                " and " + std::to_string(ends));
  if (batch.succeeded() != success) return fail(name_of(life) + ": whether it succeeded is wrong");
  if (batch.total == 0) tally_.hit(FlowProbe::batch_empty);
  tally_.hit(success           ? FlowProbe::batch_succeeded
             : batch.cancelled ? FlowProbe::batch_cancelled
                               : FlowProbe::batch_failed);
}

void Ledger::look_at_schedules(Queues& observer) {
  for (auto& [key, life] : schedules_) {
    const auto schedule = observer.get_schedule(life.queue, life.name);
    if (!schedule && schedule.error().code() == Code::not_found) {
      life.last.reset();
      life.fired = 0;
      continue;
    }
    if (!schedule) continue;
    judge_schedule(life, *schedule);
    life.last = *schedule;
  }
}

void Ledger::judge_schedule(ScheduleLife& life, const Schedule& now_is) {
  const std::string text = "schedule " + life.queue + "/" + life.name;
  if (now_is.paused == now_is.next.has_value()) return fail(text + ": planned, or paused?");
  if (now_is.fired != life.fired)
    return fail(text + " says that it fired " + std::to_string(now_is.fired) + " times, not " +
                std::to_string(life.fired));
  if (!life.last) return;
  if (now_is.skipped > life.last->skipped) {
    tally_.hit(FlowProbe::schedule_skipped);
    if (!life.last->job.unique) return fail(text + " skipped a run for no reason");
  }
  if (life.last->planned && now_is.planned < life.last->planned)
    return fail(text + " went back in time");
}

}  // namespace sluice::queue::sim
