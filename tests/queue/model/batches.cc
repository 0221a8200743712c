// SPDX-License-Identifier: MIT
// The model's batches, schedules and agenda.
#include <algorithm>

#include "queue/cron.h"
#include "tests/queue/model/model.h"

namespace sluice::queue::model {
namespace {

Cron cron_of(const Schedule& schedule) {
  return Cron::parse(schedule.cron).value();
}

}  // namespace

std::string schedule_slot(const std::string& queue, const std::string& name) {
  return "schedule " + name + " of " + queue;
}

std::string callback_slot(const std::string& queue, const std::string& batch, bool on_success) {
  return (on_success ? "success of " : "end of ") + batch + " of " + queue;
}

// --------------------------------------------------------------------------------------- batches

Code Model::check_open(const NewJob& job, const Origin& origin) {
  if (job.batch.empty()) return Code::ok;
  const Queue* queue = find(job.queue);
  if (queue == nullptr || !queue->batches.contains(job.batch)) return Code::not_found;
  const Batch& batch = queue->batches.at(job.batch);
  const bool member = origin.acked && origin.acked->queue == job.queue && origin.batch == job.batch;
  const bool open = batch.ended == 0 && !batch.cancelled && (!batch.sealed || member);
  return open ? Code::ok : Code::conflict;
}

// The job's batch, if the job still counts there.
Batch* Model::batch_of(Queue& queue, const Job& job) {
  const auto batch = queue.batches.find(job.batch);
  const bool over = batch == queue.batches.end() || batch->second.ended > 0 ||
                    batch->second.created > job.enqueued;
  return over ? nullptr : &batch->second;
}

void Model::end_member(Queue& queue, const Job& job, Lane lane) {
  Batch* batch = batch_of(queue, job);
  if (batch == nullptr) return;
  ++(lane == Lane::done ? batch->done : lane == Lane::dead ? batch->dead : batch->dropped);
  batch->counted = true;
}

// Requeued after its batch has ended it is a job like any other.
void Model::return_member(Queue& queue, Job& job) {
  Batch* batch = batch_of(queue, job);
  if (batch == nullptr) return job.batch.clear();
  --(job.lane == Lane::done ? batch->done : job.lane == Lane::dead ? batch->dead : batch->dropped);
  batch->counted = true;
}

Code Model::open_batch(const NewBatch& request) {
  Queue& queue = queues_[request.queue];
  queue.name = request.queue;
  if (queue.batches.contains(request.id)) return Code::already_exists;
  queue.batches[request.id] = {
      .created = now, .on_success = request.on_success, .on_end = request.on_end};
  return Code::ok;
}

Code Model::seal_batch(const BatchRef& ref) {
  const auto queue = queues_.find(ref.queue);
  if (queue == queues_.end() || !queue->second.batches.contains(ref.id)) return Code::not_found;
  Batch& batch = queue->second.batches.at(ref.id);
  batch.look = !batch.sealed;
  batch.sealed = true;
  return settled(Code::ok);
}

Code Model::cancel_batch(const BatchRef& ref) {
  const auto queue = queues_.find(ref.queue);
  if (queue == queues_.end() || !queue->second.batches.contains(ref.id)) return Code::not_found;
  Batch& batch = queue->second.batches.at(ref.id);
  if (batch.ended > 0) return Code::conflict;
  if (batch.cancelled) return Code::ok;
  batch.sealed = true;
  batch.cancelled = true;
  batch.look = true;
  queue->second.agenda[{.at = now, .kind = Note::drop, .subject = ref.id}] = {};
  return settled(Code::ok);
}

// It ends with its last job, in the same call. Otherwise somebody looks again in the next second.
void Model::settle_batch(Queue& queue, const std::string& id) {
  Batch& batch = queue.batches.at(id);
  const bool counted = std::exchange(batch.counted, false);
  const bool look = std::exchange(batch.look, false);
  if (!batch.sealed || batch.ended > 0 || (!counted && !look)) return;
  if (batch.pending() > 0) {
    if (counted)
      queue.agenda[{.at = (now / 1000 + 1) * 1000, .kind = Note::check, .subject = id}] = {};
    return;
  }
  batch.ended = now;
  const bool success = batch.dead == 0 && batch.dropped == 0 && !batch.cancelled;
  if (success && batch.on_success)
    batch.success_id = call_back(batch, *batch.on_success, callback_slot(queue.name, id, true));
  if (batch.on_end)
    batch.end_id = call_back(batch, *batch.on_end, callback_slot(queue.name, id, false));
  const Duration kept = std::max(queue.config.done_retention, kBatchKept);
  queue.agenda[{.at = now + in_ms(kept), .kind = Note::forget, .subject = id}] = {};
}

std::string Model::call_back(Batch& batch, NewJob job, const std::string& slot) {
  if (job.id.empty()) job.id = drawn[slot];
  const Added added = add(job, {.callback = true});
  if (added.code != Code::ok) batch.failed_to_call = true;
  return added.id;
}

// Whether that is all of them: a job that the same call has just made ready waits for the next.
bool Model::drop_members(Queue& queue, const std::string& id, Swept& swept) {
  const auto batch = queue.batches.find(id);
  if (batch == queue.batches.end() || batch->second.ended > 0) return true;
  std::map<std::uint64_t, Job*> members;
  for (auto& [name, job] : queue.jobs)
    if (job.batch == id && job.lane <= Lane::leased) members[job.number] = &job;
  bool all = true;
  for (const auto& [number, job] : members) {
    if (placed_.contains(number)) {
      all = false;
      continue;
    }
    finish(queue, *job, Lane::cancelled);
    ++swept.batches;
  }
  return all;
}

// ------------------------------------------------------------------------------------- schedules

void Model::plan(Queue& queue, const std::string& name, Ms after) {
  Schedule& schedule = queue.schedules.at(name);
  queue.agenda.erase({.at = schedule.next, .kind = Note::fire, .subject = name});
  schedule.next = schedule.paused ? 0 : cron_of(schedule).next_after(after);
  if (!schedule.paused)
    queue.agenda[{.at = schedule.next, .kind = Note::fire, .subject = name}] = {};
}

Code Model::put_schedule(const NewSchedule& request) {
  Queue& queue = queues_[request.queue];
  queue.name = request.queue;
  Schedule& schedule = queue.schedules[request.name];
  schedule.cron = request.cron;
  schedule.job = request.job;
  plan(queue, request.name, now);
  return Code::ok;
}

Code Model::pause_schedule(const std::string& queue_name, const std::string& name, bool paused) {
  const auto queue = queues_.find(queue_name);
  if (queue == queues_.end() || !queue->second.schedules.contains(name)) return Code::not_found;
  Schedule& schedule = queue->second.schedules.at(name);
  if (schedule.paused == paused) return Code::ok;
  schedule.paused = paused;
  plan(queue->second, name, now);
  return Code::ok;
}

Code Model::remove_schedule(const std::string& queue_name, const std::string& name) {
  const auto queue = queues_.find(queue_name);
  if (queue == queues_.end() || !queue->second.schedules.contains(name)) return Code::not_found;
  const Ms next = queue->second.schedules.at(name).next;
  queue->second.agenda.erase({.at = next, .kind = Note::fire, .subject = name});
  queue->second.schedules.erase(name);
  return Code::ok;
}

Added Model::run_once(Queue& queue, const std::string& name, Ms planned) {
  Schedule& schedule = queue.schedules.at(name);
  NewJob job = schedule.job;
  job.queue = queue.name;
  job.id = drawn[schedule_slot(queue.name, name)];
  if (job.id == schedule.last_id) job.id = "not drawn";  // The real one was refused.
  const Added added = add(job, {.schedule = name, .planned = planned});
  cancel_replaced();
  if (added.code != Code::ok) return added;
  if (added.id != job.id) return {.code = Code::already_exists};  // One before it is kept.
  schedule.last_id = added.id;
  ++schedule.fired;
  return added;
}

Added Model::run_schedule(const std::string& queue_name, const std::string& name) {
  const auto queue = queues_.find(queue_name);
  if (queue == queues_.end() || !queue->second.schedules.contains(name))
    return {.code = Code::not_found};
  const Added added = run_once(queue->second, name, now);
  settled(added.code);
  return added;
}

// Once for all the times that have passed, as of the last of them. Not if it would have to cancel
// a job that the same call has just made ready: then the next one does it.
bool Model::fire(Queue& queue, const std::string& name, Swept& swept) {
  Schedule& schedule = queue.schedules.at(name);
  const auto& unique = schedule.job.unique;
  if (unique && unique->policy == UniquePolicy::replace && !placed_.empty()) return false;
  ++swept.fired;
  const Ms first = schedule.next;
  schedule.planned = cron_of(schedule).last_between(first, now).value_or(first);
  schedule.last_skipped = run_once(queue, name, schedule.planned).code != Code::ok;
  if (schedule.last_skipped) ++schedule.skipped;
  plan(queue, name, schedule.planned);
  return true;
}

// ---------------------------------------------------------------------------------------- agenda

Model::Work Model::work_agenda(Queue& queue) {
  Work work;
  const auto notes = queue.agenda;
  for (const auto& [note, ending] : notes) {
    if (note.at > now) break;
    work.any = true;
    if (work_on(queue, note, ending, work.swept)) queue.agenda.erase(note);
  }
  return work;
}

// Whether that is done with.
bool Model::work_on(Queue& queue, const Note& note, Ending ending, Swept& swept) {
  switch (note.kind) {
    case Note::fire:
      return fire(queue, note.subject, swept);
    case Note::release:
      release_dependants(
          {.queue = queue.name, .id = note.subject, .number = note.number, .ending = ending});
      return true;
    case Note::drop:
      return drop_members(queue, note.subject, swept);
    case Note::check:
      ++swept.batches;
      if (queue.batches.contains(note.subject)) queue.batches[note.subject].look = true;
      return true;
    case Note::free:
      if (const auto key = queue.keys.find(note.subject);
          key != queue.keys.end() && key->second.job == 0 && key->second.until <= now)
        queue.keys.erase(key);
      return true;
    case Note::forget:
      if (const auto batch = queue.batches.find(note.subject);
          batch != queue.batches.end() && batch->second.ended > 0)
        queue.batches.erase(batch);
      return true;
  }
  return true;
}

}  // namespace sluice::queue::model
