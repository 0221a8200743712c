// SPDX-License-Identifier: MIT
// Commands that go beyond a single job, as calls of both.
#include <algorithm>

#include "tests/queue/model/pair.h"

namespace sluice::queue::model {
namespace {

using std::chrono::milliseconds;

const std::string& other_queue(const std::string& queue) {
  return queue == kQueues[0] ? kQueues[1] : kQueues[0];
}

std::string batch_name(std::size_t index) {
  return "batch-" + std::to_string(index % kBatchNames);
}

}  // namespace

void Pair::learn_ids() {
  for (const std::string& queue : kQueues) {
    const auto batches = bench_->list_batches(queue);
    if (!batches) continue;
    for (const queue::Batch& batch : *batches) {
      model_.drawn[callback_slot(queue, batch.id, true)] = batch.success_id;
      model_.drawn[callback_slot(queue, batch.id, false)] = batch.end_id;
    }
    const auto schedules = bench_->list_schedules(queue);
    for (const queue::Schedule& schedule : *schedules)
      model_.drawn[schedule_slot(queue, schedule.name)] = schedule.last_id;
  }
}

// Of what there is, so that not everything is refused.
std::vector<After> Pair::pick_after(const Command& command, const JobRef& near) const {
  const std::string& queue = kQueues[command.queue];
  std::vector<After> after;
  for (const AfterPick& pick : command.flow.after) {
    After one{.policy = pick.policy};
    if (pick.kind == AfterPick::spelled) one.queue = queue;
    if (pick.kind == AfterPick::other) one.queue = other_queue(queue);
    const std::string& from = one.queue.empty() ? queue : one.queue;
    const std::size_t there = model_.list(from).size();
    if (there > 0) one.id = pick_job(from, pick.job % there).id;
    if (pick.kind == AfterPick::by_name) one.id = "job-" + std::to_string(pick.job);
    if (pick.kind == AfterPick::near && !near.id.empty())
      one = {.queue = near.queue, .id = near.id, .policy = pick.policy};
    const bool twice = std::ranges::any_of(after, [&](const After& earlier) {
      return earlier.id == one.id && (earlier.queue == one.queue || one.queue.empty());
    });
    if (!one.id.empty() && (!twice || pick.job == 0)) after.push_back(one);
  }
  return after;
}

std::string Pair::pick_batch(const std::string& queue, std::size_t index) const {
  const Queue* found = model_.find(queue);
  std::vector<std::string> open;
  if (found != nullptr)
    for (const auto& [id, batch] : found->batches)
      if (batch.ended == 0) open.push_back(id);
  if (index >= 10) return batch_name(index);
  return open.empty() ? "" : open[index % open.size()];
}

NewJob Pair::new_job(const Command& command, std::size_t offset, const JobRef& near) const {
  NewJob job = new_job(command, offset);
  job.unique = command.flow.unique;
  if (job.unique && offset % 2 == 1) job.unique->key = job.unique->key == "k0" ? "k1" : "k0";
  job.after = pick_after(command, near);
  if (command.flow.batch) job.batch = pick_batch(job.queue, *command.flow.batch);
  return job;
}

// A callback's id is often taken, and sometimes drawn.
NewBatch Pair::new_batch(const Command& command) const {
  NewBatch batch{.queue = kQueues[command.queue], .id = batch_name(command.job)};
  NewJob callback = new_job(command);
  callback.due.reset();
  if (command.number > 1) batch.on_success = callback;
  callback.queue = command.flag ? other_queue(callback.queue) : callback.queue;
  callback.id = command.number == 4 ? callback.id : "";
  if (command.number % 2 == 0) batch.on_end = callback;
  return batch;
}

void Pair::perform_add_after(const Command& command) {
  JobRef ref = pick_job(kQueues[command.queue], command.job);
  for (const Lane lane : {Lane::held, Lane::waiting})
    for (const std::string& id : model_.list(ref.queue, lane))
      if (command.job < 9) ref.id = id;
  const AddAfterRequest request{
      .queue = ref.queue,
      .id = ref.id,
      .after = pick_after(command, command.job % 4 == 0 ? ref : JobRef{})};
  same("add_after", bench_->add_after(request), [&] { return model_.add_after(request); });
}

void Pair::perform_batch_verb(const Command& command) {
  const std::string& queue = kQueues[command.queue];
  BatchRef ref{queue, pick_batch(queue, command.job)};
  if (ref.id.empty()) ref.id = batch_name(command.job);
  if (command.kind == Command::open_batch) {
    const NewBatch batch = new_batch(command);
    return same("open_batch", status_of(bench_->open_batch(batch)),
                [&] { return model_.open_batch(batch); });
  }
  if (command.kind == Command::seal_batch)
    return same("seal_batch", bench_->seal_batch(ref), [&] { return model_.seal_batch(ref); });
  same("cancel_batch", bench_->cancel_batch(ref), [&] { return model_.cancel_batch(ref); });
}

void Pair::perform_schedule_verb(const Command& command) {
  constexpr const char* kCrons[] = {"* * * * *", "*/5 * * * *", "@hourly", "30 */2 * * *"};
  const std::string& queue = kQueues[command.queue];
  const std::string name = "schedule-" + std::to_string(command.job % kScheduleNames);
  switch (command.kind) {
    case Command::put_schedule: {
      NewSchedule schedule{.queue = queue, .name = name, .cron = kCrons[command.job % 4]};
      schedule.job = {.group = kGroups[command.group],
                      .payload = "by the calendar",
                      .ttl = milliseconds(command.ttl),
                      .hold = command.flag && command.number == 0,
                      .unique = command.flow.unique};
      return same("put_schedule", bench_->put_schedule(schedule),
                  [&] { return model_.put_schedule(schedule); });
    }
    case Command::pause_schedule:
      return same("pause_schedule", bench_->pause_schedule(queue, name),
                  [&] { return model_.pause_schedule(queue, name, true); });
    case Command::resume_schedule:
      return same("resume_schedule", bench_->resume_schedule(queue, name),
                  [&] { return model_.pause_schedule(queue, name, false); });
    case Command::run_schedule: {
      const auto id = bench_->run_schedule(queue, name);
      learn_ids();
      return agree("run_schedule", id, model_.run_schedule(queue, name));
    }
    default:
      return same("remove_schedule", bench_->remove_schedule(queue, name),
                  [&] { return model_.remove_schedule(queue, name); });
  }
}

}  // namespace sluice::queue::model
