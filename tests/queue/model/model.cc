// SPDX-License-Identifier: MIT
#include "tests/queue/model/model.h"

#include <algorithm>

#include <sluice/backoff.h>

namespace sluice::queue::model {

namespace {

constexpr Lane kPending[] = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready};
constexpr Lane kUnfinished[] = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready,
                                Lane::leased};
constexpr Lane kFinished[] = {Lane::done, Lane::dead, Lane::cancelled};

const RetryPolicy& policy_of(const Queue& queue, const Job& job) {
  return job.retry ? *job.retry : queue.config.retry;
}

}  // namespace

Model::Found Model::find_job(const JobRef& ref, std::span<const Lane> allowed) {
  const auto queue = queues_.find(ref.queue);
  if (queue == queues_.end()) return {.code = Code::not_found};
  const auto job = queue->second.jobs.find(ref.id);
  if (job == queue->second.jobs.end()) return {.code = Code::not_found};
  if (std::ranges::find(allowed, job->second.lane) == allowed.end())
    return {.code = Code::conflict};
  return {.queue = &queue->second, .job = &job->second};
}

Model::Found Model::get_lease(const std::string& name, Token token) {
  const Job* job = find_lease(name, token);
  if (job == nullptr) return {.code = Code::lease_lost};
  Queue& queue = queues_.at(name);
  return {.queue = &queue, .job = &queue.jobs.at(job->id)};
}

// Checked in this order: batch, id, unique key, dependencies, backlog.
Added Model::add(const NewJob& request, const Origin& origin) {
  if (const Code code = check_open(request, origin); code != Code::ok) return {.code = code};
  const bool acked_id =
      origin.acked && origin.acked->queue == request.queue && origin.acked->id == request.id;
  if (acked_id || find({request.queue, request.id}) != nullptr)
    return {.code = Code::already_exists};
  const KeyCheck key = check_key(request, origin);
  if (key.code != Code::ok || !key.kept_id.empty()) return {.code = key.code, .id = key.kept_id};
  // A finished holder only loses its key.
  if (key.replaces_unfinished) replaced_.insert(key.replaces);
  std::vector<Tie> ties;
  Code code = read_after(request.queue, request.after, origin, ties);
  const Queue* there = find(request.queue);
  // Whoever takes another's place does not make the backlog grow.
  const std::uint64_t leaving = (key.replaces_unfinished ? 1 : 0) +
                                std::ranges::count(to_cancel_, request.queue, &JobRef::queue);
  const bool full = there != nullptr && there->config.backlog_max &&
                    count(request.queue).backlog() + 1 > *there->config.backlog_max + leaving;
  if (code == Code::ok && full && !origin.callback) code = Code::limit_exceeded;
  if (code != Code::ok) {
    replaced_.erase(key.replaces);
    return {.code = code};
  }
  Queue& queue = queues_[request.queue];
  queue.name = request.queue;
  if (key.replaces != 0) take_key_away(queue, request.unique->key);
  Job& job = make(queue, request, origin);
  tie(job, ties);
  job.lane = request.hold         ? Lane::held
             : !job.after.empty() ? Lane::waiting
             : job.due > now      ? Lane::scheduled
                                  : Lane::ready;
  if (Batch* batch = batch_of(queue, job); batch != nullptr) {
    ++batch->total;
    batch->counted = true;
  }
  return {.id = job.id};
}

Job& Model::make(Queue& queue, const NewJob& request, const Origin& origin) {
  Job& job = queue.jobs[request.id];
  job = {.id = request.id,
         .group = request.group,
         .payload = request.payload,
         .number = ++counter_,
         .place = counter_,
         .priority = request.priority.value_or(queue.config.priority),
         .enqueued = now,
         .retry = request.retry,
         .unique = request.unique,
         .batch = request.batch,
         .schedule = origin.schedule,
         .planned = origin.planned};
  for (const Label& label : queue.config.labels)
    if (!request.label.empty() && label.name == request.label) job.priority = label.priority;
  if (request.due) job.due = in_ms(*request.due);
  if (request.delay > Duration{}) job.due = now + in_ms(request.delay);
  if (request.ttl > Duration{}) job.expires = now + in_ms(request.ttl);
  if (job.unique) {
    // Until the end of the call at least, whatever its lane is.
    job.has_key = true;
    queue.keys[job.unique->key] = {
        .id = job.id, .job = job.number, .until = now + in_ms(job.unique->window)};
  }
  queue.touched.insert(job.group);
  born_.push_back({queue.name, job.id});
  return job;
}

Added Model::enqueue(const NewJob& request) {
  const Added added = add(request, {});
  cancel_replaced();
  settled(added.code);
  return added;
}

std::vector<Added> Model::enqueue(std::span<const NewJob> jobs) {
  std::vector<Added> added;
  for (const NewJob& job : jobs) {
    added.push_back(add(job, {}));
    cancel_replaced();
  }
  settled(Code::ok);
  return added;
}

Code Model::extend(const std::string& queue, Token token, std::optional<Duration> lease) {
  const Found found = get_lease(queue, token);
  if (found.job != nullptr)
    found.job->deadline = now + in_ms(lease.value_or(found.queue->config.lease));
  return found.code;
}

// The children find the job done, its key given back, and its id still taken. What they replace
// ends after them, and a key that is free is theirs first.
Code Model::finish_lease(const Ack& request) {
  const Found found = get_lease(request.queue, request.token);
  if (found.job == nullptr) return found.code;
  const Model before = *this;
  Queue& queue = *found.queue;
  const Job acked = *found.job;
  finish(queue, *found.job, Lane::done);
  const auto job = queue.jobs.find(acked.id);
  const bool kept = job != queue.jobs.end();
  if (kept && job->second.has_key && !acked.has_key) give_key_back(queue, job->second);
  for (const NewJob& child : request.children) {
    const Origin origin{.acked = JobRef{request.queue, acked.id}, .batch = acked.batch};
    if (const Code code = add(child, origin).code; code != Code::ok) {
      *this = before;
      return code;
    }
  }
  if (kept) move_key(queue, job->second, Lane::done);
  cancel_replaced();
  return Code::ok;
}

Code Model::ack(const Ack& request) {
  return settled(finish_lease(request));
}

std::vector<Code> Model::ack(std::span<const Ack> requests) {
  std::vector<Code> codes;
  for (const Ack& request : requests) codes.push_back(finish_lease(request));
  settled(Code::ok);
  return codes;
}

Code Model::fail(const std::string& queue, Token token, const FailRequest& how) {
  const Found found = get_lease(queue, token);
  if (found.job == nullptr) return found.code;
  const RetryPolicy& policy = policy_of(*found.queue, *found.job);
  if (how.dead) {
    finish(*found.queue, *found.job, Lane::dead, DeathReason::refused);
  } else if (found.job->attempts >= policy.attempts_max) {
    finish(*found.queue, *found.job, Lane::dead, DeathReason::attempts);
  } else {
    const BackoffPolicy backoff{.base = policy.base, .factor = policy.factor, .cap = policy.cap};
    const Duration delay =
        how.delay ? *how.delay : backoff_delay(backoff, std::max(1u, found.job->attempts), 0);
    schedule(*found.queue, *found.job, now + in_ms(delay));
  }
  return settled(Code::ok);
}

Code Model::release(const std::string& queue, Token token, Duration delay) {
  const Found found = get_lease(queue, token);
  if (found.job == nullptr) return found.code;
  --found.job->attempts;
  if (delay > Duration{})
    schedule(*found.queue, *found.job, now + in_ms(delay));
  else
    move(*found.queue, *found.job, Lane::ready);
  return settled(Code::ok);
}

Code Model::cancel(const JobRef& ref) {
  const Found found = find_job(ref, kUnfinished);
  if (found.job != nullptr) finish(*found.queue, *found.job, Lane::cancelled);
  return settled(found.code);
}

Code Model::requeue(const RequeueRequest& request) {
  const Found found = find_job({request.queue, request.id}, kFinished);
  if (found.job == nullptr) return found.code;
  Job& job = *found.job;
  if (is_releasing(*found.queue, job)) return Code::conflict;
  const bool wants_key = job.unique && contains(job.unique->lanes, Lane::ready);
  if (wants_key && is_key_of_another(*found.queue, job)) return Code::already_exists;
  return_member(*found.queue, job);
  if (!request.keep_attempts) job.attempts = 0;
  job.lapses = 0;
  job.due = 0;
  job.expires = kNever;
  job.reason = DeathReason::none;
  make_ready(*found.queue, job);
  return settled(Code::ok);
}

Code Model::edit(const EditRequest& request) {
  const Found found = find_job({request.queue, request.id}, kPending);
  if (found.job == nullptr) return found.code;
  Job& job = *found.job;
  if (request.payload) job.payload = *request.payload;
  if (request.priority) job.priority = *request.priority;
  if (request.due) job.due = std::max(in_ms(*request.due), now);
  const bool later = job.lane == Lane::ready && job.due > now;
  if (request.due && (later || job.lane == Lane::scheduled))
    schedule(*found.queue, job, job.due);
  else if (job.lane == Lane::ready && request.priority)
    make_ready(*found.queue, job);
  return settled(Code::ok);
}

Code Model::hold(const JobRef& ref) {
  constexpr Lane kAllowed[] = {Lane::waiting, Lane::scheduled, Lane::ready};
  const Found found = find_job(ref, kAllowed);
  if (found.job != nullptr) move(*found.queue, *found.job, Lane::held);
  return settled(found.code);
}

Code Model::unhold(const JobRef& ref) {
  constexpr Lane kAllowed[] = {Lane::held};
  const Found found = find_job(ref, kAllowed);
  if (found.job != nullptr) go_on(*found.queue, *found.job);
  return settled(found.code);
}

Code Model::break_lease(const JobRef& ref) {
  constexpr Lane kAllowed[] = {Lane::leased};
  const Found found = find_job(ref, kAllowed);
  if (found.job != nullptr) move(*found.queue, *found.job, Lane::ready);
  return settled(found.code);
}

Code Model::remove(const JobRef& ref) {
  const Found found = find_job(ref, kFinished);
  if (found.job != nullptr) forget(*found.queue, *found.job);
  return settled(found.code);
}

const Queue* Model::find(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? nullptr : &found->second;
}

const Job* Model::find(const JobRef& ref) const {
  const Queue* queue = find(ref.queue);
  if (queue == nullptr) return nullptr;
  const auto found = queue->jobs.find(ref.id);
  return found == queue->jobs.end() ? nullptr : &found->second;
}

const Job* Model::find_lease(const std::string& name, Token token) const {
  if (const Queue* queue = find(name); queue != nullptr)
    for (const auto& [id, job] : queue->jobs)
      if (job.lane == Lane::leased && Token{job.number, job.claims} == token && now < job.deadline)
        return &job;
  return nullptr;
}

Counts Model::count(const std::string& name, std::optional<std::string_view> group) const {
  Counts counts;
  if (const Queue* queue = find(name); queue != nullptr)
    for (const auto& [id, job] : queue->jobs)
      if (!group || job.group == *group) ++counts.of(job.lane);
  return counts;
}

std::vector<std::string> Model::list(const std::string& name, std::optional<Lane> lane,
                                     std::string_view group) const {
  std::map<std::uint64_t, std::string> ids;
  if (const Queue* queue = find(name); queue != nullptr)
    for (const auto& [id, job] : queue->jobs)
      if ((!lane || job.lane == *lane) && (group.empty() || job.group == group))
        ids[job.number] = id;
  std::vector<std::string> ordered;
  for (auto& [number, id] : ids) ordered.push_back(id);
  return ordered;
}

std::vector<Move> Model::take_events(const std::string& queue) {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? std::vector<Move>() : std::exchange(found->second.events, {});
}

}  // namespace sluice::queue::model
