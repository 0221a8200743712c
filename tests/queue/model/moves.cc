// SPDX-License-Identifier: MIT
// The model's moves from lane to lane, what each call leaves to its end, and what time does.
#include <algorithm>

#include "tests/queue/model/model.h"

namespace sluice::queue::model {
namespace {

// When time moves a job on, by what it waits for.
Ms lease_end(const Queue&, const Job& job) {
  return job.lane == Lane::leased ? job.deadline : kNever;
}

Ms due_time(const Queue&, const Job& job) {
  return job.lane == Lane::scheduled ? job.due : kNever;
}

Ms expiry(const Queue&, const Job& job) {
  return job.lane < Lane::leased ? job.expires : kNever;
}

Duration retention(const Queue& queue, Lane lane) {
  return lane == Lane::dead ? queue.config.dead_retention : queue.config.done_retention;
}

template <Lane lane>
Ms retention_end(const Queue& queue, const Job& job) {
  const Duration kept = retention(queue, lane);
  if (job.lane != lane || kept == Duration::max()) return kNever;
  return job.since + job.kept_longer + in_ms(kept);
}

}  // namespace

void Model::move(Queue& queue, Job& job, Lane lane) {
  move_key(queue, job, lane);
  if (queue.config.events)
    queue.events.push_back({.id = job.id, .from = job.lane, .to = lane, .attempt = job.attempts});
  job.lane = lane;
  queue.touched.insert(job.group);
}

void Model::make_ready(Queue& queue, Job& job) {
  move(queue, job, Lane::ready);
  job.place = ++counter_;
  placed_.insert(job.number);
}

void Model::schedule(Queue& queue, Job& job, Ms due) {
  move(queue, job, Lane::scheduled);
  job.due = due;
}

void Model::go_on(Queue& queue, Job& job) {
  if (!job.after.empty())
    move(queue, job, Lane::waiting);
  else if (job.due > now)
    schedule(queue, job, job.due);
  else
    make_ready(queue, job);
}

// Others that waited for it may still want to see how it ended: it is kept for an hour then.
void Model::finish(Queue& queue, Job& job, Lane lane, DeathReason reason) {
  const Duration kept = retention(queue, lane);
  end_member(queue, job, lane);
  move(queue, job, lane);
  job.after.clear();
  job.reason = reason;
  job.since = now;
  job.kept_longer = 0;
  if (job.waited_for) {
    releases_.push_back({.queue = queue.name,
                         .id = job.id,
                         .number = job.number,
                         .ending = lane == Lane::done ? Ending::done : Ending::failed});
    if (kept < kParentKept) job.kept_longer = in_ms(kParentKept - kept);
  } else if (kept == Duration{}) {
    erase(queue, job);
  }
}

void Model::erase(Queue& queue, const Job& job) {
  move_key(queue, queue.jobs.at(job.id), {});
  queue.touched.insert(job.group);
  queue.jobs.erase(std::string(job.id));
}

// A finished job goes for good.
void Model::forget(Queue& queue, Job& job) {
  if (job.waited_for && job.lane != Lane::done)
    releases_.push_back(
        {.queue = queue.name, .id = job.id, .number = job.number, .ending = Ending::lost});
  erase(queue, job);
}

void Model::lapse(Queue& queue, Job& job) {
  const RetryPolicy& policy = job.retry ? *job.retry : queue.config.retry;
  if (++job.lapses >= queue.config.lapses_max)
    finish(queue, job, Lane::dead, DeathReason::poison);
  else if (job.attempts >= policy.attempts_max)
    finish(queue, job, Lane::dead, DeathReason::attempts);
  else
    move(queue, job, Lane::ready);
}

void Model::bury(Queue& queue, Job& job) {
  finish(queue, job, Lane::dead, DeathReason::expired);
}

// At the end of a call: first what its finished jobs mean to others, and those to yet others; then
// batches; then the new jobs are there; then the groups' offers.
Code Model::settled(Code code) {
  for (; !releases_.empty(); releases_.pop_front()) {
    const Release release = releases_.front();
    // Who began to wait in this very call is seen to later, and everybody else with it.
    if (newly_waited_for_.contains(release.number))
      queues_[release.queue].agenda[{
          .at = now, .kind = Note::release, .number = release.number, .subject = release.id}] =
          release.ending;
    else
      release_dependants(release);
  }
  for (auto& [name, queue] : queues_)
    for (auto& [id, batch] : queue.batches) settle_batch(queue, id);
  for (const JobRef& ref : born_) {
    Queue& queue = queues_[ref.queue];
    Job& job = queue.jobs[ref.id];
    move_key(queue, job, job.lane);
    if (queue.config.events) queue.events.push_back({.id = job.id, .to = job.lane});
  }
  for (auto& [name, queue] : queues_) {
    for (const std::string& group : queue.touched) settle(queue, group);
    queue.touched.clear();
    queue.reconsider.clear();
  }
  newly_waited_for_.clear();
  replaced_.clear();
  placed_.clear();
  born_.clear();
  return code;
}

// The jobs whose time has come, the earliest first.
std::vector<std::string> Model::over(const Queue& queue, TimeOf time_of) const {
  std::map<std::pair<Ms, std::uint64_t>, std::string> found;
  for (const auto& [id, job] : queue.jobs)
    if (const Ms time = time_of(queue, job); time <= now) found[{time, job.number}] = id;
  std::vector<std::string> ids;
  for (const auto& [key, id] : found) ids.push_back(id);
  return ids;
}

// Unless the present call has moved them meanwhile.
std::uint64_t Model::each_over(Queue& queue, const std::vector<std::string>& ids, TimeOf time_of,
                               void (Model::*act)(Queue&, Job&)) {
  std::uint64_t moved = 0;
  for (const std::string& id : ids) {
    const auto job = queue.jobs.find(id);
    if (job == queue.jobs.end() || time_of(queue, job->second) > now) continue;
    (this->*act)(queue, job->second);
    ++moved;
  }
  return moved;
}

// What a claim does for everybody on the way.
std::uint64_t Model::move_on(Queue& queue) {
  std::uint64_t moved = each_over(queue, over(queue, lease_end), lease_end, &Model::lapse);
  moved += each_over(queue, over(queue, due_time), due_time, &Model::make_ready);
  moved += review(queue);
  return moved + (work_agenda(queue).any ? 1 : 0);
}

// One transaction: it finds what is over as things were before it.
Model::Work Model::sweep_once(Queue& queue) {
  constexpr TimeOf kRetentionEnds[] = {retention_end<Lane::done>, retention_end<Lane::dead>,
                                       retention_end<Lane::cancelled>};
  const auto leased = over(queue, lease_end);
  const auto expired = over(queue, expiry);
  const auto due = over(queue, due_time);
  std::vector<std::string> finished[3];
  for (std::size_t i = 0; i < 3; ++i) finished[i] = over(queue, kRetentionEnds[i]);
  Swept swept;
  swept.lapsed = each_over(queue, leased, lease_end, &Model::lapse);
  swept.expired = each_over(queue, expired, expiry, &Model::bury);
  swept.due = each_over(queue, due, due_time, &Model::make_ready);
  for (std::size_t i = 0; i < 3; ++i)
    swept.removed += each_over(queue, finished[i], kRetentionEnds[i], &Model::forget);
  review(queue);
  const Work agenda = work_agenda(queue);
  swept.fired = agenda.swept.fired;
  swept.batches = agenda.swept.batches;
  settled(Code::ok);
  return {.swept = swept, .any = agenda.any || swept.moved() > 0};
}

Swept Model::sweep() {
  Swept swept;
  for (auto& [name, queue] : queues_)
    for (;;) {
      const Work step = sweep_once(queue);
      if (!step.any) break;
      swept.lapsed += step.swept.lapsed;
      swept.expired += step.swept.expired;
      swept.due += step.swept.due;
      swept.removed += step.swept.removed;
      swept.fired += step.swept.fired;
      swept.batches += step.swept.batches;
    }
  return swept;
}

}  // namespace sluice::queue::model
