// SPDX-License-Identifier: MIT
// The end of every run: the trouble stops, and every flow has to come to its end.
#include <algorithm>
#include <memory>

#include "tests/queue/sim/flows/flow_world.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kFlowRoundsMax = 500;
constexpr std::size_t kFlowClaimMax = 64;

bool stuck(const Life& life) {
  return life.lane == Lane::waiting;
}

}  // namespace

void FlowWorld::must(FlowCall call) {
  const std::string text = call.text;
  const auto wrapped = [run = std::move(call.run), this, text](Queues& queues, FlowCall& made) {
    const Status status = run(queues, made);
    if (!status.ok())
      ledger_->fail("failed although nothing is wrong: " + text + ": " + status.to_string());
    return status;
  };
  call.run = wrapped;
  call.repeatable = false;
  make(std::move(call));
}

void FlowWorld::drain() {
  trace_.note("healed");
  intrusion_ = 0;
  store_->clear_chances();
  unsure_.clear();
  for (std::size_t i = 0; i < processes_.size(); ++i) restart(i);
  ledger_->look(observer(), now());
  heal();
  drain_all();
  check_waiting();
  // Whatever still waits for a failed job waits until somebody decides about that one.
  for (unsigned round = 0; ledger_->unfinished() > 0 && !violation(); ++round) {
    if (round == kFlowRoundsMax) return ledger_->fail("after: jobs wait for ever");
    settle_failed();
    drain_all();
    check_waiting();
  }
  if (!violation()) check_end();
}

void FlowWorld::heal() {
  for (const std::string& name : names_)
    must({.text = "resume " + name,
          .run = [&name](Queues& queues, FlowCall&) { return queues.resume(name); }});
  for (const auto& [key, schedule] : ledger_->schedules()) {
    if (!schedule.last || violation()) continue;
    must({.text = "remove_schedule " + key.second, .run = [key](Queues& queues, FlowCall&) {
            return queues.remove_schedule(key.first, key.second);
          }});
  }
  for (BatchLife& batch : ledger_->batches()) {
    if (!batch.last || batch.last->sealed || violation()) continue;
    batch.seal_asked = true;
    must({.text = "seal " + batch.id,
          .run = [ref = BatchRef{batch.queue, batch.id}](Queues& queues, FlowCall&) {
            return queues.seal_batch(ref);
          }});
  }
}

// Until nothing is left but what waits for others.
void FlowWorld::drain_all() {
  for (unsigned round = 0; !violation(); ++round) {
    if (round == kFlowRoundsMax) return ledger_->fail("the flows do not drain");
    if (!work_off()) return;
  }
}

bool FlowWorld::work_off() {
  for (const Life& life : ledger_->lives())
    if (life.lane == Lane::held && !violation())
      must({.text = "unhold " + life.id,
            .run = [ref = JobRef{life.queue, life.id}](Queues& queues, FlowCall&) {
              return queues.unhold(ref);
            }});
  const auto next = std::make_shared<std::optional<WallTime>>();
  must({.text = "sweep", .run = [next](Queues& queues, FlowCall&) {
          const auto swept = queues.sweep();
          if (swept) *next = swept->next;
          return status_of(swept);
        }});
  const auto count = std::make_shared<std::size_t>(1);
  while (*count > 0 && !violation())
    must({.text = "claim and ack", .run = [this, count](Queues& queues, FlowCall&) {
            const auto leases = queues.claim(
                {.queues = names_, .jobs_max = kFlowClaimMax, .lease = 1min, .worker = "drain"});
            *count = leases ? leases->size() : 0;
            if (!leases) return leases.error();
            std::vector<AckRequest> acks;
            for (const Lease& lease : *leases)
              acks.push_back({.queue = lease.queue, .token = lease.token});
            for (const Status& status : queues.ack(acks))
              if (!status.ok()) return status;
            return Status();
          }});
  if (violation()) return false;
  ledger_->compare(observer());
  const bool jobs = std::ranges::any_of(
      ledger_->lives(), [](const Life& life) { return !life.finished() && !stuck(life); });
  const bool batches = std::ranges::any_of(ledger_->batches(), [](const BatchLife& batch) {
    return batch.last && !batch.last->ended && std::ranges::all_of(batch.members, &Life::finished);
  });
  if (!jobs && !batches) return false;
  if (*next && **next > now()) {
    clock_.advance(**next - now());
    return true;
  }
  clock_.advance(1s);
  return true;
}

// A job may be left waiting only for one that is dead or cancelled and still there, or for one that
// waits for such a one.
void FlowWorld::check_waiting() {
  for (const Life& life : ledger_->lives()) {
    if (!stuck(life) || violation()) continue;
    tally_.hit(FlowProbe::waiting_at_the_end);
    const bool excused = std::ranges::any_of(life.waits, [&](const Life::Wait& wait) {
      if (wait.settled) return false;
      if (stuck(*wait.parent)) return true;
      return wait.policy == AfterPolicy::success && wait.parent->lane > Lane::done &&
             is_there(observer(), *wait.parent);
    });
    if (!excused) ledger_->fail("after: " + life.id + " is left waiting for nothing");
  }
}

// Half of the failed are tried again, half are given up.
void FlowWorld::settle_failed() {
  std::vector<const Life*> failed;
  for (const Life& life : ledger_->lives())
    if (stuck(life))
      for (const Life::Wait& wait : life.waits)
        if (!wait.settled && wait.parent->lane > Lane::done &&
            std::ranges::find(failed, wait.parent) == failed.end())
          failed.push_back(wait.parent);
  for (const Life* life : failed) {
    if (violation() || !life->finished()) continue;
    const JobRef ref{life->queue, life->id};
    // Its key may be another's by now: then it cannot come back.
    const bool requeue = random_.chance(0.5) && !(life->asked && life->asked->unique);
    must({.text = (requeue ? "requeue " : "remove ") + ref.id,
          .run = [ref, requeue](Queues& queues, FlowCall&) {
            if (requeue) return queues.requeue({.queue = ref.queue, .id = ref.id});
            return queues.remove(ref);
          }});
  }
}

void FlowWorld::check_end() {
  for (const BatchLife& batch : ledger_->batches())
    if (batch.last && !batch.last->ended)
      return ledger_->fail("batch: " + batch.id + " is sealed and drained, and has not ended");
  check_store();
  clock_.advance(4h);
  must({.text = "sweep",
        .run = [](Queues& queues, FlowCall&) { return status_of(queues.sweep()); }});
  for (const std::string& name : names_) {
    for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled})
      must({.text = "purge " + name, .run = [&name, lane](Queues& queues, FlowCall&) {
              return status_of(queues.purge(name, lane));
            }});
    if (violation()) return;
    const auto batches = observer().list_batches(name);
    if (!batches || !batches->empty()) return ledger_->fail("batches are left in " + name);
  }
  ledger_->compare(observer());
  check_store();
  for (const std::string& name : names_)
    if (const Status status = processes_[0].queues->remove_queue(name); !status.ok())
      return ledger_->fail("a drained queue cannot be removed: " + status.to_string());
  check_store();
  trace_.note("drained");
}

}  // namespace sluice::queue::sim
