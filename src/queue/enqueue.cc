// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "queue/checks.h"
#include "queue/group.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

Result<std::int32_t> priority_of(const NewJob& job, const QueueConfig& config) {
  if (job.priority) return *job.priority;
  if (job.label.empty()) return config.priority;
  const auto label = std::ranges::find(config.labels, job.label, &Label::name);
  if (label != config.labels.end()) return label->priority;
  std::string known;
  for (const auto& one : config.labels) known += (known.empty() ? "" : ", ") + one.name;
  return error(Code::invalid_argument,
               fmt::format("queue \"{}\" has no label \"{}\": it has {}", job.queue, job.label,
                           known.empty() ? "none" : known));
}

/// 0 if the job is not delayed.
Result<Millis> due_of(const NewJob& job, Millis now) {
  if (job.delay > Duration{}) return now + to_millis(job.delay);
  if (!job.due) return Millis{0};
  const Millis due = to_millis(*job.due);
  if (due > now + to_millis(kDelayMax))
    return error(Code::invalid_argument, "the due time is more than ten years away");
  return due > now ? due : 0;
}

Status check_backlog(Steps& steps, QueueState& queue) {
  if (!queue.config().backlog_max) return {};
  if (!queue.backlog) {
    queue.backlog = 0;
    for (const Lane lane : {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready}) {
      SLUICE_LET(count, read_count(steps.txn(), queue.keys.count(lane), kv::Isolation::snapshot));
      *queue.backlog += count;
    }
  }
  if (*queue.backlog < *queue.config().backlog_max) return {};
  return error(Code::limit_exceeded,
               fmt::format("queue \"{}\" has its {} jobs: wait until some are done",
                           queue.record.name, *queue.config().backlog_max));
}

Status check_new_id(Steps& steps, QueueState& queue, std::string_view id) {
  SLUICE_LET(taken, steps.txn().visit(queue.keys.id(id), [](std::string_view) {}));
  if (taken || !steps.add_new_id(queue, id))
    return error(Code::already_exists,
                 fmt::format("queue \"{}\" has a job \"{}\" already", queue.record.name, id));
  return {};
}

}  // namespace

Result<NewJobState> accept(Steps& steps, const NewJob& job) {
  SLUICE_TRY(check_new_job(job));
  SLUICE_LET(queue, steps.see_queue(job.queue));
  SLUICE_LET(priority, priority_of(job, queue->config()));
  SLUICE_LET(due, due_of(job, steps.now()));
  if (!job.group.empty()) SLUICE_TRY(steps.get_group(*queue, job.group));
  NewJobState made{.queue = queue, .payload = job.payload};
  made.record = {.id = job.id,
                 .priority = priority,
                 .group = job.group,
                 .enqueued = steps.now(),
                 .due = due,
                 .expires = job.ttl > Duration{} ? steps.now() + to_millis(job.ttl) : 0,
                 .retry = job.retry};
  if (job.id.empty())
    made.record.id = steps.shared().next_ulid(steps.now());  // New to everybody: not looked up.
  else if (!mutant("queue.id_not_checked"))
    SLUICE_TRY(check_new_id(steps, *queue, job.id));
  // After the id: whoever repeats an enqueue whose answer was lost must learn that the job is
  // there.
  if (auto full = check_backlog(steps, *queue); !full.ok()) {
    steps.forget_new_id(*queue, made.record.id);
    return Failure{std::move(full)};
  }
  made.record.shard = shard_for(queue->config(), job.group, made.record.id);
  made.lane = job.hold ? Lane::held : due > 0 ? Lane::scheduled : Lane::ready;
  if (queue->backlog) ++*queue->backlog;
  return made;
}

void take_back(Steps& steps, const NewJobState& job) {
  steps.forget_new_id(*job.queue, job.record.id);
  if (job.queue->backlog) --*job.queue->backlog;
}

Result<std::string> enqueue(Steps& steps, const NewJob& job) {
  SLUICE_LET(accepted, accept(steps, job));
  if (!accepted.queue->exists()) accepted.queue->changed = true;
  std::string id = accepted.record.id;
  steps.place_later(std::move(accepted));
  return id;
}

}  // namespace sluice::queue
