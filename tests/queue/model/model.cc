// SPDX-License-Identifier: MIT
#include "tests/queue/model/model.h"

#include <algorithm>

#include "base/backoff.h"

namespace sluice::queue::model {

namespace {

Ms in_ms(Duration duration) {
  return std::chrono::floor<std::chrono::milliseconds>(duration).count();
}

Ms in_ms(WallTime time) {
  return in_ms(time.time_since_epoch());
}

bool is_backlog(Lane lane) {
  return lane < Lane::leased;
}

constexpr Lane kPending[] = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready};
constexpr Lane kUnfinished[] = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready,
                                Lane::leased};
constexpr Lane kFinished[] = {Lane::done, Lane::dead, Lane::cancelled};

// When time moves a job on, by what it waits for.
Ms lease_end(const Queue&, const Job& job) {
  return job.lane == Lane::leased ? job.deadline : kNever;
}

Ms due_time(const Queue&, const Job& job) {
  return job.lane == Lane::scheduled ? job.due : kNever;
}

Ms expiry(const Queue&, const Job& job) {
  return is_backlog(job.lane) ? job.expires : kNever;
}

Ms retention_end(const Queue& queue, const Job& job) {
  if (job.lane <= Lane::leased) return kNever;
  const Duration kept =
      job.lane == Lane::dead ? queue.config.dead_retention : queue.config.done_retention;
  return kept == Duration::max() ? kNever : job.since + in_ms(kept);
}

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

Model::Found Model::find_lease(const std::string& name, Token token) {
  const auto queue = queues_.find(name);
  if (queue == queues_.end()) return {.code = Code::lease_lost};
  for (auto& [id, job] : queue->second.jobs)
    if (job.lane == Lane::leased && Token{job.number, job.claims} == token && now < job.deadline)
      return {.queue = &queue->second, .job = &job};
  return {.code = Code::lease_lost};
}

Code Model::add(const NewJob& request) {
  Queue& queue = queues_[request.queue];
  if (queue.jobs.contains(request.id)) return Code::already_exists;
  if (queue.config.backlog_max && count(request.queue).backlog() >= *queue.config.backlog_max)
    return Code::limit_exceeded;
  Job& job = queue.jobs[request.id];
  job = {.id = request.id,
         .group = request.group,
         .payload = request.payload,
         .number = ++counter_,
         .priority = request.priority.value_or(queue.config.priority),
         .retry = request.retry};
  for (const Label& label : queue.config.labels)
    if (!request.label.empty() && label.name == request.label) job.priority = label.priority;
  if (request.due) job.due = in_ms(*request.due);
  if (request.delay > Duration{}) job.due = now + in_ms(request.delay);
  if (request.ttl > Duration{}) job.expires = now + in_ms(request.ttl);
  if (request.hold) {
    job.lane = Lane::held;
    queue.touched.insert(job.group);
  } else if (job.due > now) {
    schedule(queue, job, job.due);
  } else {
    make_ready(queue, job);
  }
  return Code::ok;
}

Code Model::enqueue(const NewJob& request) {
  return settled(add(request));
}

std::vector<Code> Model::enqueue(std::span<const NewJob> jobs) {
  std::vector<Code> codes;
  for (const NewJob& job : jobs) codes.push_back(add(job));
  settled(Code::ok);
  return codes;
}

Code Model::extend(const std::string& queue, Token token, std::optional<Duration> lease) {
  const Found found = find_lease(queue, token);
  if (found.job != nullptr)
    found.job->deadline = now + in_ms(lease.value_or(found.queue->config.lease));
  return found.code;
}

Code Model::finish_lease(const std::string& queue, Token token) {
  const Found found = find_lease(queue, token);
  if (found.job != nullptr) finish(*found.queue, *found.job, Lane::done);
  return found.code;
}

Code Model::ack(const std::string& queue, Token token, const std::vector<NewJob>& children) {
  if (const Found found = find_lease(queue, token); found.job == nullptr) return found.code;
  const Model before = *this;
  for (const NewJob& child : children)
    if (const Code code = add(child); code != Code::ok) {
      *this = before;
      return code;
    }
  return settled(finish_lease(queue, token));
}

std::vector<Code> Model::ack(std::span<const std::pair<std::string, Token>> jobs) {
  std::vector<Code> codes;
  for (const auto& [queue, token] : jobs) codes.push_back(finish_lease(queue, token));
  settled(Code::ok);
  return codes;
}

Code Model::fail(const std::string& queue, Token token, const FailRequest& how) {
  const Found found = find_lease(queue, token);
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
  const Found found = find_lease(queue, token);
  if (found.job == nullptr) return found.code;
  --found.job->attempts;
  if (delay > Duration{})
    schedule(*found.queue, *found.job, now + in_ms(delay));
  else
    back_to_place(*found.queue, *found.job);
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
  constexpr Lane kAllowed[] = {Lane::scheduled, Lane::ready};
  const Found found = find_job(ref, kAllowed);
  if (found.job == nullptr) return found.code;
  found.job->lane = Lane::held;
  found.queue->touched.insert(found.job->group);
  return settled(Code::ok);
}

Code Model::unhold(const JobRef& ref) {
  constexpr Lane kAllowed[] = {Lane::held};
  const Found found = find_job(ref, kAllowed);
  if (found.job == nullptr) return found.code;
  if (found.job->due > now)
    schedule(*found.queue, *found.job, found.job->due);
  else
    make_ready(*found.queue, *found.job);
  return settled(Code::ok);
}

Code Model::break_lease(const JobRef& ref) {
  constexpr Lane kAllowed[] = {Lane::leased};
  const Found found = find_job(ref, kAllowed);
  if (found.job != nullptr) back_to_place(*found.queue, *found.job);
  return settled(found.code);
}

Code Model::remove(const JobRef& ref) {
  const Found found = find_job(ref, kFinished);
  if (found.job != nullptr) erase(*found.queue, *found.job);
  return settled(found.code);
}

// The jobs whose time has come, the earliest first.
std::vector<Job*> Model::over(Queue& queue, Ms (*time_of)(const Queue&, const Job&)) {
  std::map<std::pair<Ms, std::uint64_t>, Job*> found;
  for (auto& [id, job] : queue.jobs)
    if (const Ms time = time_of(queue, job); time <= now) found[{time, job.number}] = &job;
  std::vector<Job*> jobs;
  for (const auto& [key, job] : found) jobs.push_back(job);
  return jobs;
}

// What a claim does for everybody on the way.
std::uint64_t Model::move_on(Queue& queue) {
  const auto leased = over(queue, lease_end);
  const auto due = over(queue, due_time);
  for (Job* job : leased) lapse(queue, *job);
  for (Job* job : due) make_ready(queue, *job);
  return leased.size() + due.size() + review(queue);
}

// One transaction: it finds what is over as things were before it.
Swept Model::sweep_once(Queue& queue) {
  const auto leased = over(queue, lease_end);
  const auto expired = over(queue, expiry);
  const auto due = over(queue, due_time);
  const auto finished = over(queue, retention_end);
  Swept swept{.lapsed = leased.size(), .expired = expired.size(), .removed = finished.size()};
  for (Job* job : due)
    if (job->expires > now) {
      make_ready(queue, *job);
      ++swept.due;
    }
  for (Job* job : leased) lapse(queue, *job);
  for (Job* job : expired) finish(queue, *job, Lane::dead, DeathReason::expired);
  for (Job* job : finished) erase(queue, *job);
  review(queue);
  settled(Code::ok);
  return swept;
}

Swept Model::sweep() {
  Swept swept;
  for (auto& [name, queue] : queues_)
    for (;;) {
      const Swept step = sweep_once(queue);
      if (step.moved() == 0) break;
      swept.lapsed += step.lapsed;
      swept.expired += step.expired;
      swept.due += step.due;
      swept.removed += step.removed;
    }
  return swept;
}

void Model::make_ready(Queue& queue, Job& job) {
  job.lane = Lane::ready;
  job.place = ++counter_;
  queue.touched.insert(job.group);
}

void Model::back_to_place(Queue& queue, Job& job) {
  job.lane = Lane::ready;
  queue.touched.insert(job.group);
}

void Model::schedule(Queue& queue, Job& job, Ms due) {
  job.lane = Lane::scheduled;
  job.due = due;
  queue.touched.insert(job.group);
}

void Model::finish(Queue& queue, Job& job, Lane lane, DeathReason reason) {
  job.lane = lane;
  job.reason = reason;
  job.since = now;
  const bool kept =
      (lane == Lane::dead ? queue.config.dead_retention : queue.config.done_retention) > Duration{};
  if (kept)
    queue.touched.insert(job.group);
  else
    erase(queue, job);
}

void Model::erase(Queue& queue, const Job& job) {
  const std::string group = job.group;
  queue.jobs.erase(std::string(job.id));
  queue.touched.insert(group);
}

void Model::lapse(Queue& queue, Job& job) {
  if (++job.lapses >= queue.config.lapses_max)
    finish(queue, job, Lane::dead, DeathReason::poison);
  else if (job.attempts >= policy_of(queue, job).attempts_max)
    finish(queue, job, Lane::dead, DeathReason::attempts);
  else
    back_to_place(queue, job);
}

}  // namespace sluice::queue::model
