// SPDX-License-Identifier: MIT
#include "tests/queue/crash/actor/client.h"

#include <chrono>
#include <utility>

#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

std::int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::int64_t to_ms(WallTime time) {
  return to_ms(time.time_since_epoch());
}

}  // namespace

Note Client::begin_call(Verb verb) {
  return {.verb = verb, .thread = thread_, .call = ++calls_};
}

void Client::say(Note note) const {
  const Duration since_boot = mono_now().time_since_epoch();
  note.stamp_us = std::chrono::duration_cast<std::chrono::microseconds>(since_boot).count();
  notes_.say(note);
}

void Client::answer(Note note, Code code) const {
  note.answer = true;
  note.code = code;
  say(std::move(note));
}

void Client::enqueue(std::span<const JobName> jobs, const std::string& operation) {
  Note note = begin_call(Verb::enqueue);
  note.operation = operation;
  std::vector<Note> items;
  std::vector<queue::NewJob> requests;
  for (const JobName& job : jobs) {
    note.queue = job.queue;
    note.id = job.id;
    items.push_back(note);
    requests.push_back(job_of(job.queue, job.id));
  }
  for (const Note& item : items) say(item);
  std::vector<Result<std::string>> results;
  if (requests.size() == 1)
    results.push_back(queues_.enqueue(requests[0], {.operation = operation}));
  else
    results = queues_.enqueue(requests, {.operation = operation});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Result<std::string>& result = results.at(i);
    // Its key is taken, and nothing happened: the policy is to keep the holder.
    const bool kept = result && *result != items[i].id;
    answer(items[i], kept ? Code::already_exists : status_of(result).code());
  }
}

std::vector<Held> Client::claim(const Claim& claim) {
  Note note = begin_call(Verb::claim);
  note.operation = claim.operation;
  note.queue = claim.queues.size() == 1 ? claim.queues[0] : '*';
  note.span_ms = to_ms(claim.lease);
  note.attempts = static_cast<std::uint32_t>(claim.jobs_max);
  queue::ClaimRequest request{.jobs_max = claim.jobs_max,
                              .lease = claim.lease,
                              .worker = "w" + std::to_string(thread_),
                              .wait = claim.wait,
                              .operation = claim.operation};
  for (const char letter : claim.queues) request.queues.push_back(queue_name(letter));
  say(note);
  const auto leases = queues_.claim(request);
  std::vector<Held> held;
  if (leases) {
    for (const queue::Lease& lease : *leases) {
      Note one = note;
      one.queue = queue_letter(lease.queue);
      one.id = lease.id;
      one.token = lease.token.to_string();
      one.until_ms = to_ms(lease.deadline);
      one.attempts = lease.attempt;
      answer(one, Code::ok);
      held.push_back({.job = {.queue = one.queue, .id = lease.id}, .token = lease.token});
    }
  }
  answer(note, status_of(leases).code());
  return held;
}

Code Client::extend(const Held& held, Duration lease) {
  Note note = begin_call(Verb::extend);
  note.queue = held.job.queue;
  note.id = held.job.id;
  note.token = held.token.to_string();
  note.span_ms = to_ms(lease);
  say(note);
  const auto deadline =
      queues_.extend({.queue = queue_name(note.queue), .token = held.token, .lease = lease});
  if (deadline) note.until_ms = to_ms(*deadline);
  answer(note, status_of(deadline).code());
  return status_of(deadline).code();
}

void Client::ack(std::span<const Held> held, const std::string& operation) {
  Note note = begin_call(Verb::ack);
  note.operation = operation;
  std::vector<Note> items;
  std::vector<queue::AckRequest> requests;
  for (const Held& one : held) {
    note.queue = one.job.queue;
    note.id = one.job.id;
    note.token = one.token.to_string();
    items.push_back(note);
    requests.push_back(ack_of(one.job.queue, one.token));
  }
  for (const Note& item : items) say(item);
  std::vector<Status> results;
  if (requests.size() == 1)
    results.push_back(queues_.ack(requests[0], {.operation = operation}));
  else
    results = queues_.ack(requests, {.operation = operation});
  for (std::size_t i = 0; i < items.size(); ++i) answer(items[i], results.at(i).code());
}

void Client::fail(const Held& held, const Fail& how) {
  Note note = begin_call(Verb::fail);
  note.queue = held.job.queue;
  note.id = held.job.id;
  note.token = held.token.to_string();
  note.span_ms = to_ms(how.delay);
  note.dead = how.dead;
  say(note);
  const Status status = queues_.fail({.queue = queue_name(note.queue),
                                      .token = held.token,
                                      .error = "by intention",
                                      .delay = how.delay,
                                      .dead = how.dead});
  answer(note, status.code());
}

void Client::release(const Held& held, Duration delay) {
  Note note = begin_call(Verb::release);
  note.queue = held.job.queue;
  note.id = held.job.id;
  note.token = held.token.to_string();
  note.span_ms = to_ms(delay);
  say(note);
  const Status status =
      queues_.release({.queue = queue_name(note.queue), .token = held.token, .delay = delay});
  answer(note, status.code());
}

Status Client::operate_now(Verb verb, const queue::JobRef& job) {
  switch (verb) {
    case Verb::cancel:
      return queues_.cancel(job);
    case Verb::requeue:
      return queues_.requeue({.queue = job.queue, .id = job.id});
    case Verb::hold:
      return queues_.hold(job);
    case Verb::unhold:
      return queues_.unhold(job);
    case Verb::break_lease:
      return queues_.break_lease(job);
    default:
      return queues_.edit({.queue = job.queue, .id = job.id, .priority = 1});
  }
}

void Client::operate(Verb verb, const JobName& job) {
  Note note = begin_call(verb);
  note.queue = job.queue;
  note.id = job.id;
  say(note);
  answer(note, operate_now(verb, {.queue = queue_name(job.queue), .id = job.id}).code());
}

void Client::look(const JobName& job) {
  Note note = begin_call(Verb::look);
  note.queue = job.queue;
  note.id = job.id;
  say(note);
  const auto found = queues_.get({.queue = queue_name(job.queue), .id = job.id});
  if (found) {
    note.lane = static_cast<std::uint8_t>(found->lane);
    note.claims = found->claims;
    note.attempts = found->attempts;
    note.lapses = found->lapses;
  }
  answer(note, status_of(found).code());
}

void Client::tell_time() {
  Note note = begin_call(Verb::time);
  say(note);
  const Duration now = queues_.store().now().time_since_epoch();
  note.store_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  answer(note, Code::ok);
}

}  // namespace sluice::test
