// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "queue/after.h"
#include "queue/batch.h"
#include "queue/checks.h"
#include "queue/group.h"
#include "queue/unique.h"
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

/// By how much the job makes the backlog grow: not at all if it takes another's place.
std::int64_t growth_of(const NewJobState& made) {
  return made.replaces && made.queue->replaced.contains(*made.replaces) ? 0 : 1;
}

Status check_backlog(Steps& steps, const NewJobState& made) {
  QueueState& queue = *made.queue;
  if (!queue.config().backlog_max) return {};
  constexpr Lane kBacklog[] = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready};
  if (!queue.backlog) {
    queue.backlog = 0;
    for (const Lane lane : kBacklog) {
      SLUICE_LET(count, read_count(steps.txn(), queue.keys.count(lane), kv::Isolation::snapshot));
      *queue.backlog += static_cast<std::int64_t>(count);
    }
  }
  std::int64_t backlog = *queue.backlog + queue.accepted;
  for (const Lane lane : kBacklog) backlog += queue.deltas[static_cast<std::size_t>(lane)];
  if (std::cmp_less_equal(backlog + growth_of(made), *queue.config().backlog_max)) return {};
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

/// What may still refuse a job that has its id: its unique key, what it waits for, the backlog.
Status accept_rest(Steps& steps, const NewJob& job, const AcceptOptions& options,
                   NewJobState& made) {
  if (job.unique) SLUICE_TRY(accept_unique(steps, made, *job.unique, options.finishing));
  if (!made.kept_id.empty()) return {};
  if (!job.after.empty()) {
    SLUICE_LET(ties,
               accept_after(steps, *made.queue, made.record.id, job.after, options.finishing));
    made.ties = std::move(ties);
  }
  if (options.uncapped) return {};
  return check_backlog(steps, made);
}

/// The transaction knows nothing of the job any more.
void forget(Steps& steps, const NewJobState& made) {
  steps.forget_new_id(*made.queue, made.record.id);
  made.queue->new_keys.erase(made.unique_at);
  if (made.replaces) made.queue->replaced.erase(*made.replaces);
}

}  // namespace

Result<NewJobState> accept(Steps& steps, const NewJob& job, const AcceptOptions& options) {
  SLUICE_TRY(check_new_job(job));
  SLUICE_LET(queue, steps.see_queue(job.queue));
  SLUICE_LET(priority, priority_of(job, queue->config()));
  SLUICE_LET(due, due_of(job, steps.now()));
  if (!job.group.empty()) SLUICE_TRY(steps.get_group(*queue, job.group));
  if (!job.batch.empty()) SLUICE_TRY(check_open(steps, *queue, job.batch, options.finishing));
  NewJobState made{.queue = queue, .payload = job.payload};
  made.record = {.id = job.id,
                 .priority = priority,
                 .group = job.group,
                 .enqueued = steps.now(),
                 .due = due,
                 .expires = job.ttl > Duration{} ? steps.now() + to_millis(job.ttl) : 0,
                 .retry = job.retry,
                 .batch = job.batch};
  if (job.id.empty())
    made.record.id = steps.shared().next_ulid(steps.now());  // New to everybody: not looked up.
  else
    SLUICE_TRY(check_new_id(steps, *queue, job.id));
  // After the id: whoever repeats an enqueue whose answer was lost must learn that the job is
  // there.
  if (auto status = accept_rest(steps, job, options, made); !status.ok()) {
    forget(steps, made);
    return Failure{std::move(status)};
  }
  if (!made.kept_id.empty()) {
    forget(steps, made);
    return made;
  }
  made.record.shard = shard_for(queue->config(), job.group, made.record.id);
  made.record.waits = !made.ties.empty();
  made.lane = job.hold            ? Lane::held
              : made.record.waits ? Lane::waiting
              : due > 0           ? Lane::scheduled
                                  : Lane::ready;
  queue->accepted += growth_of(made);
  return made;
}

bool is_refusal(const Status& status) {
  const Code code = status.code();
  return code == Code::already_exists || code == Code::limit_exceeded ||
         code == Code::invalid_argument || code == Code::conflict || code == Code::not_found;
}

void take_back(Steps& steps, const NewJobState& job) {
  if (!job.kept_id.empty()) return;
  job.queue->accepted -= growth_of(job);
  forget(steps, job);
}

Result<std::string> admit(Steps& steps, NewJobState job) {
  if (!job.kept_id.empty()) return job.kept_id;
  if (!job.queue->exists()) job.queue->changed = true;
  job.queue->accepted += 1 - growth_of(job);  // What it replaces is counted as gone from here on.
  SLUICE_TRY(replace_holder(steps, job));
  SLUICE_TRY(admit_ties(steps, job));
  SLUICE_TRY(add_member(steps, job));
  std::string id = job.record.id;
  steps.place_later(std::move(job));
  return id;
}

Result<std::string> enqueue(Steps& steps, const NewJob& job) {
  SLUICE_LET(accepted, accept(steps, job));
  return admit(steps, std::move(accepted));
}

}  // namespace sluice::queue
