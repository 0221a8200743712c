// SPDX-License-Identifier: MIT
#include "queue/schedule.h"

#include <fmt/format.h>

#include "queue/checks.h"
#include "queue/cron.h"
#include "queue/names.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

Status check_schedule(const NewSchedule& schedule) {
  SLUICE_TRY(check_name("schedule name", schedule.name));
  const NewJob& job = schedule.job;
  if ((!job.queue.empty() && job.queue != schedule.queue) || !job.id.empty())
    return error(Code::invalid_argument,
                 "a schedule's job is of its own queue and gets an id each time: leave both empty");
  if (!job.batch.empty() || !job.after.empty() || job.due || job.delay != Duration{})
    return error(Code::invalid_argument,
                 "a schedule's job has no batch, no dependencies, no delay and no due time");
  NewJob whole = job;
  whole.queue = schedule.queue;
  SLUICE_TRY(check_new_job(whole));
  return check_template(whole);
}

Result<ScheduleRecord> get_schedule(Steps& steps, const QueueState& queue, std::string_view name) {
  SLUICE_TRY(check_name("schedule name", name));
  SLUICE_LET(value, steps.txn().get(queue.keys.schedule(name)));
  if (!value) return no_such_schedule(queue.record.name, name);
  return decode_schedule(*value);
}

/// Plans the first time after `after`, or nothing while it is paused, and writes the record.
Status plan(Steps& steps, QueueState& queue, ScheduleRecord& record, Millis after) {
  kv::Transaction& txn = steps.txn();
  const Keys& keys = queue.keys;
  if (record.next > 0) txn.erase(keys.agenda(record.next, Errand::fire, record.name));
  record.next = 0;
  if (!record.paused) {
    SLUICE_LET(cron, Cron::parse(record.cron));
    record.next = cron.next_after(after);
    txn.put(keys.agenda(record.next, Errand::fire, record.name), "");
    queue.ring = true;  // Who waits for a job has to know until when.
  }
  txn.put(keys.schedule(record.name), encode(record));
  return {};
}

/// Enqueues the schedule's job. `planned` is what it is for.
Result<std::string> run_once(Steps& steps, QueueState& queue, const ScheduleRecord& record,
                             Millis planned) {
  NewJob job = record.job;
  job.queue = queue.record.name;
  SLUICE_LET(accepted, accept(steps, job));
  const bool kept = !accepted.kept_id.empty();
  if (kept)
    return error(
        Code::already_exists,
        fmt::format("job \"{}\" of an earlier run holds its unique key", accepted.kept_id));
  accepted.record.schedule = record.name;
  accepted.record.planned = planned;
  return admit(steps, std::move(accepted));
}

}  // namespace

Failure no_such_schedule(std::string_view queue, std::string_view name) {
  return error(Code::not_found, fmt::format("queue \"{}\" has no schedule \"{}\"", queue, name));
}

Status put_schedule(Steps& steps, const NewSchedule& schedule) {
  SLUICE_TRY(check_schedule(schedule));
  SLUICE_TRY(Cron::parse(schedule.cron));
  SLUICE_LET(queue, steps.make_queue(schedule.queue));
  SLUICE_LET(value, steps.txn().get(queue->keys.schedule(schedule.name)));
  ScheduleRecord record{.created = steps.now()};
  if (value) {
    SLUICE_LET(before, decode_schedule(*value));
    record = std::move(before);
  }
  record.name = schedule.name;
  record.cron = schedule.cron;
  record.job = schedule.job;
  record.job.queue.clear();
  return plan(steps, *queue, record, steps.now());
}

Status set_schedule_paused(Steps& steps, std::string_view queue_name, std::string_view name,
                           bool paused) {
  SLUICE_LET(queue, steps.get_queue(queue_name));
  SLUICE_LET(record, get_schedule(steps, *queue, name));
  if (record.paused == paused) return {};
  record.paused = paused;
  return plan(steps, *queue, record, steps.now());
}

Result<std::string> run_schedule(Steps& steps, std::string_view queue_name, std::string_view name) {
  SLUICE_LET(queue, steps.get_queue(queue_name));
  SLUICE_LET(record, get_schedule(steps, *queue, name));
  SLUICE_LET(id, run_once(steps, *queue, record, steps.now()));
  record.last_id = id;
  ++record.fired;
  steps.txn().put(queue->keys.schedule(name), encode(record));
  return id;
}

Status remove_schedule(Steps& steps, std::string_view queue_name, std::string_view name) {
  SLUICE_LET(queue, steps.get_queue(queue_name));
  SLUICE_LET(record, get_schedule(steps, *queue, name));
  if (record.next > 0)
    steps.txn().erase(queue->keys.agenda(record.next, Errand::fire, record.name));
  steps.txn().erase(queue->keys.schedule(name));
  return {};
}

Result<bool> fire_schedule(Steps& steps, QueueState& queue, std::string_view name, Millis at) {
  SLUICE_LET(value, steps.txn().get(queue.keys.schedule(name)));
  if (!value) return true;
  SLUICE_LET(record, decode_schedule(*value));
  if (record.next != at) return true;
  // What it replaces may be a job that this transaction has just made ready, and cannot read.
  const auto& unique = record.job.unique;
  if (unique && unique->policy == UniquePolicy::replace && steps.placed_any()) return false;
  SLUICE_LET(cron, Cron::parse(record.cron));
  // After a downtime once, for the last time that was missed.
  record.planned = cron.last_between(at, steps.now()).value_or(at);
  auto id = run_once(steps, queue, record, record.planned);
  if (!id && !is_refusal(id.error())) return Failure{id.error()};
  record.error = id ? "" : id.error().message();
  if (id) record.last_id = *id;
  ++(id ? record.fired : record.skipped);
  SLUICE_TRY(plan(steps, queue, record, record.planned));
  return true;
}

Schedule to_schedule(std::string_view queue, const ScheduleRecord& record) {
  Schedule schedule{.queue = std::string(queue),
                    .name = record.name,
                    .cron = record.cron,
                    .job = record.job,
                    .paused = record.paused,
                    .created = to_wall(record.created),
                    .last_id = record.last_id,
                    .fired = record.fired,
                    .skipped = record.skipped,
                    .error = record.error};
  if (record.next > 0) schedule.next = to_wall(record.next);
  if (record.planned > 0) schedule.planned = to_wall(record.planned);
  return schedule;
}

}  // namespace sluice::queue
