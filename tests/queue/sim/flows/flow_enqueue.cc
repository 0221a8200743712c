// SPDX-License-Identifier: MIT
// Enqueuing, and whether what it answered was due.
#include <algorithm>
#include <memory>

#include "tests/queue/sim/flows/flow_world.h"

namespace sluice::queue::sim {
namespace {

bool is_store_failure(Code code) {
  return code == Code::commit_unknown || code == Code::io_error || code == Code::unavailable;
}

using Ids = std::vector<Result<std::string>>;

// The call's own status: the store's failure, or the refusal of all.
Status whole(const Ids& ids) {
  bool any = false;
  for (const auto& id : ids) {
    if (!id && is_store_failure(id.error().code())) return id.error();
    any = any || id.has_value();
  }
  return any ? Status() : ids.front().error();
}

std::string words(const Ids& ids) {
  std::string text;
  for (const auto& id : ids)
    text += id ? *id + " " : std::string(code_name(id.error().code())) + " ";
  return text;
}

std::string describe(const NewJob& job) {
  std::string text = job.queue + "/" + job.payload;
  if (!job.id.empty()) text += " id " + job.id;
  if (!job.batch.empty()) text += " in " + job.batch;
  if (job.unique)
    text += " key " + job.unique->key + " policy " +
            std::to_string(static_cast<int>(job.unique->policy)) + " window " +
            std::to_string(job.unique->window.count() / 1'000'000) + " lanes " +
            std::to_string(job.unique->lanes.size());
  for (std::size_t i = 0; i < job.after.size() && i < 6; ++i)
    text += " after " + job.after[i].queue + "/" + job.after[i].id + " " +
            policy_name(job.after[i].policy);
  return text;
}

}  // namespace

void FlowWorld::enqueue(std::size_t process, std::vector<NewJob> jobs, const std::string& text) {
  for (const NewJob& job : jobs) ledger_->expect(job);
  const auto ids = std::make_shared<Ids>();
  std::string words_of_jobs = text;
  for (std::size_t i = 0; i < jobs.size() && i < 6; ++i)
    words_of_jobs += " [" + describe(jobs[i]) + "]";
  make({.text = words_of_jobs,
        .process = process,
        .with_operation = random_.chance(0.8),
        .repeatable = false,  // Without an operation id a job that is gone would come back.
        .run =
            [jobs, ids](Queues& queues, FlowCall& call) {
              *ids = jobs.size() == 1
                         ? Ids{queues.enqueue(jobs[0], call.options())}
                         : queues.enqueue(jobs, BatchOptions{.operation = call.operation});
              call.answer = words(*ids);
              return whole(*ids);
            },
        .judge =
            [this, jobs, ids](const FlowCall& call) {
              for (std::size_t i = 0; i < jobs.size() && !violation(); ++i)
                judge_enqueued(call, jobs[i], (*ids)[i]);
            }});
}

void FlowWorld::judge_enqueued(const FlowCall& call, const NewJob& job,
                               const Result<std::string>& id) {
  const Life* life = ledger_->find_payload(job.payload);
  if (!id) {
    if (life != nullptr)
      ledger_->fail(job.payload + " was refused, and is there: " + id.error().to_string());
    else if (!refusal_is_due(call, job, id.error().code()))
      ledger_->fail(job.payload + " was refused without a reason: " + id.error().to_string());
    return;
  }
  if (life != nullptr && life->id == *id) return;
  const bool may_keep = job.unique && job.unique->policy == UniquePolicy::keep;
  const Life* holder = ledger_->find(job.queue, *id);
  if (life != nullptr || !may_keep || holder == nullptr || holder->asked == nullptr ||
      !holder->asked->unique || holder->asked->unique->key != job.unique->key)
    return ledger_->fail(job.payload + " was acknowledged as " + *id + " and is not there");
  if (!key_was_held(call, job))
    return ledger_->fail("unique: " + *id + " was kept, but it does not hold its key");
  tally_.hit(FlowProbe::unique_kept);
}

bool FlowWorld::key_was_held(const FlowCall& call, const NewJob& job) {
  return ledger_->key_holder_since(job.queue, job.unique->key, call.begun_tick, call.begun) !=
         nullptr;
}

bool FlowWorld::refusal_is_due(const FlowCall& call, const NewJob& job, Code code) {
  if (code == Code::already_exists) {
    if (!job.id.empty() && ledger_->find(job.queue, job.id) != nullptr) return true;
    if (!job.unique || !key_was_held(call, job)) return false;
    const Life* holder =
        ledger_->key_holder_since(job.queue, job.unique->key, call.begun_tick, call.begun);
    tally_.hit(FlowProbe::unique_rejected);
    if (!holder->wants_key_in(holder->lane) && !call.intruded)
      tally_.hit(FlowProbe::unique_held_by_window);
    if (job.unique->policy == UniquePolicy::replace && holder->lane == Lane::leased)
      tally_.hit(FlowProbe::unique_not_replaced_leased);
    return true;
  }
  bool due = false;
  for (const After& after : job.after) {
    const Life* parent = ledger_->find(after.queue.empty() ? job.queue : after.queue, after.id);
    const bool gone = parent == nullptr || parent->was_done || parent->was_failed;
    const bool failed =
        parent != nullptr && parent->was_failed && after.policy == AfterPolicy::cancel;
    if (code == Code::not_found && gone) {
      tally_.hit(FlowProbe::after_gone);
      due = true;
    }
    if (code == Code::conflict && failed) {
      tally_.hit(FlowProbe::after_refused_conflict);
      due = true;
    }
  }
  if (job.batch.empty()) return due;
  const BatchLife* batch = ledger_->find_batch(job.queue, job.batch);
  if (code == Code::not_found)
    return due || batch == nullptr || !batch->last || batch->last->ended.has_value();
  if (code != Code::conflict || batch == nullptr || !Ledger::closed(*batch)) return due;
  tally_.hit(FlowProbe::batch_refused_job);
  return true;
}

}  // namespace sluice::queue::sim
