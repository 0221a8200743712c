// SPDX-License-Identifier: MIT
// Each command as a call of both.
#include "tests/queue/model/pair.h"

#include <algorithm>

namespace sluice::queue::model {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kFar[] = {seconds(1), seconds(1), minutes(1), minutes(1), minutes(7), hours(1)};

}  // namespace

void Pair::agree(const char* what, const Status& real, Code expected) {
  if (real.code() != expected)
    RC_LOG() << what << ": " << real.to_string() << ", expected " << code_name(expected) << "\n";
  RC_ASSERT(real.code() == expected);
}

void Pair::agree(const char* what, const Result<std::string>& real, const Added& expected) {
  agree(what, status_of(real), expected.code);
  if (real) RC_ASSERT(*real == expected.id);
}

NewJob Pair::new_job(const Command& command, std::size_t offset) const {
  NewJob job{.queue = kQueues[command.queue],
             .id = "job-" + std::to_string((command.job + offset) % 12),
             .group = kGroups[(command.group + offset) % kGroups.size()],
             .payload = std::to_string(command.number),
             .ttl = milliseconds(command.ttl),
             .hold = command.flag && command.number == 0};
  if (command.number > 2) job.priority = command.number - 4;
  if (command.number == 2) job.label = command.flag ? "high" : "normal";
  if (command.flag)
    job.due = bench_.now() + milliseconds(command.time);
  else
    job.delay = milliseconds(command.time > 1 ? command.time : 0);
  if (command.flag && command.job % 3 == 0)
    job.retry = RetryPolicy{.attempts_max = 2, .base = milliseconds(3), .cap = milliseconds(8)};
  return job;
}

JobRef Pair::pick_job(const std::string& queue, std::size_t index) const {
  const auto ids = model_.list(queue);
  if (index < ids.size()) return {queue, ids[ids.size() - 1 - index]};
  return {queue, "job-" + std::to_string(index)};
}

// The newest half of the time; else an older one, which is often over. Where something is to come
// of it, mostly one that is not.
Pair::Held Pair::pick_token(std::size_t index) const {
  if (tokens_.empty()) return {.queue = kQueues[0], .real = {}, .told = {}};
  std::vector<Held> live;
  for (const Held& held : tokens_)
    if (about_flows_ && model_.find_lease(held.queue, held.told) != nullptr) live.push_back(held);
  if (index < 9 && !live.empty()) return live[index % live.size()];
  const std::size_t back = index < 6 ? index / 2 : index - 3;
  return tokens_[tokens_.size() - 1 - back % tokens_.size()];
}

void Pair::perform_enqueue(const Command& command) {
  if (command.kind == Command::enqueue) {
    const NewJob job = new_job(command, 0, {});
    const auto id = bench_->enqueue(job);
    learn_ids();
    return agree("enqueue", id, model_.enqueue(job));
  }
  std::vector<NewJob> jobs;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(command.number); ++i)
    jobs.push_back(new_job(command, i * 5,
                           jobs.empty() ? JobRef{} : JobRef{jobs.back().queue, jobs.back().id}));
  const auto results = bench_->enqueue(jobs, {.all_or_none = command.flag});
  RC_ASSERT(results.size() == jobs.size());
  learn_ids();
  Model after = model_;
  const std::vector<Added> expected = after.enqueue(jobs);
  const bool refused =
      std::ranges::any_of(expected, [](const Added& added) { return added.code != Code::ok; });
  if (command.flag && refused) {
    for (const auto& result : results) RC_ASSERT(!result);
    return;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) agree("enqueue batch", results[i], expected[i]);
  model_ = after;
}

void Pair::sweep() {
  const auto swept = bench_->sweep();
  learn_ids();
  const Swept expected = model_.sweep();
  agree("sweep", status_of(swept), Code::ok);
  RC_ASSERT(swept->lapsed == expected.lapsed);
  RC_ASSERT(swept->expired == expected.expired);
  RC_ASSERT(swept->due == expected.due);
  RC_ASSERT(swept->removed == expected.removed);
  RC_ASSERT(swept->fired == expected.fired);
  RC_ASSERT(swept->batches == expected.batches);
}

void Pair::perform_claim(const Command& command) {
  if (command.ttl == 0) sweep();
  ClaimRequest request{.queues = {kQueues[command.queue]},
                       .jobs_max = static_cast<std::size_t>(std::max(1, command.number)),
                       .worker = "worker"};
  if (command.job % 3 == 0) request.queues.push_back(kQueues[1 - command.queue]);
  if (command.time >= 5) request.lease = milliseconds(command.time);
  if (command.flag && command.group != 0) request.skip_groups = {kGroups[command.group]};
  const auto leases = bench_->claim(request);
  learn_ids();
  const auto claims = model_.claim(request);
  agree("claim", status_of(leases), Code::ok);
  std::vector<std::string> real, told;
  for (const Lease& lease : *leases)
    real.push_back(lease.queue + "/" + lease.id + " attempt " + std::to_string(lease.attempt) +
                   " until " + std::to_string(in_ms(lease.deadline)) + " of " + lease.batch + "/" +
                   lease.schedule);
  for (const Claim& claim : claims) {
    const Job& job = *model_.find({claim.queue, claim.id});
    told.push_back(claim.queue + "/" + claim.id + " attempt " + std::to_string(claim.attempt) +
                   " until " + std::to_string(claim.deadline) + " of " + job.batch + "/" +
                   job.schedule);
  }
  RC_ASSERT(real == told);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Lease& lease = (*leases)[i];
    queue::Token& highest = highest_[{lease.queue, lease.id}];
    RC_ASSERT(lease.token > highest);
    highest = lease.token;
    tokens_.push_back({.queue = lease.queue, .real = lease.token, .told = claims[i].token});
  }
}

JobRef Pair::job_of(const Held& held) const {
  const Job* job = model_.find_lease(held.queue, held.told);
  return {held.queue, job != nullptr ? job->id : "job-0"};
}

AckRequest Pair::new_ack(const Command& command, const Held& held, const JobRef& near,
                         std::size_t children) const {
  AckRequest ack{.queue = held.queue, .token = held.real};
  for (std::size_t i = 1; i <= children; ++i)
    ack.children.push_back(
        new_job(command, i, i == 2 ? JobRef{ack.children[0].queue, ack.children[0].id} : near));
  return ack;
}

void Pair::perform_ack(const Command& command) {
  const auto number = static_cast<std::size_t>(command.number);
  if (command.kind == Command::ack) {
    const Held held = pick_token(command.job);
    const AckRequest request = new_ack(command, held, job_of(held), number > 2 ? number - 2 : 0);
    return same("ack", bench_->ack(request),
                [&] { return model_.ack({held.queue, held.told, request.children}); });
  }
  std::vector<AckRequest> requests;
  std::vector<Ack> told;
  for (std::size_t i = 0; i <= number; ++i) {
    const bool with_child = (command.flag || about_flows_) && i < 2;
    Command one = command;
    one.job = command.job + i * 3;
    const Held held = pick_token(command.job + i);
    // What its child may wait for is acked by the same call, but later.
    const JobRef next = job_of(pick_token(command.job + i + 1));
    requests.push_back(new_ack(one, held, next, with_child ? 1 : 0));
    told.push_back({held.queue, held.told, requests.back().children});
  }
  const auto results = bench_->ack(requests);
  learn_ids();
  const std::vector<Code> expected = model_.ack(told);
  RC_ASSERT(results.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) agree("ack batch", results[i], expected[i]);
}

void Pair::perform_worker_verb(const Command& command) {
  const Held held = pick_token(command.job);
  if (command.kind == Command::extend) {
    const auto lease = command.time > 0 ? std::optional<Duration>(milliseconds(command.time))
                                        : std::optional<Duration>();
    const auto until =
        bench_->extend({.queue = held.queue, .token = held.real, .lease = lease, .progress = "p"});
    return same("extend", status_of(until),
                [&] { return model_.extend(held.queue, held.told, lease); });
  }
  if (command.kind == Command::fail) {
    FailRequest request{.queue = held.queue, .token = held.real, .dead = command.flag};
    if (command.number > 2) request.delay = milliseconds(command.time);
    return same("fail", bench_->fail(request),
                [&] { return model_.fail(held.queue, held.told, request); });
  }
  const Duration delay = milliseconds(command.number > 2 ? command.time : 0);
  same("release", bench_->release({.queue = held.queue, .token = held.real, .delay = delay}),
       [&] { return model_.release(held.queue, held.told, delay); });
}

void Pair::perform_edit(const Command& command) {
  const JobRef ref = pick_job(kQueues[command.queue], command.job);
  EditRequest request{.queue = ref.queue, .id = ref.id};
  if (command.number % 2 == 0) request.priority = command.number - 2;
  if (command.number % 3 == 0) request.due = bench_.now() + milliseconds(command.time - 1);
  if (command.flag || command.number == 1 || command.number == 5)
    request.payload = "edited " + std::to_string(command.job);
  same("edit", bench_->edit(request), [&] { return model_.edit(request); });
}

// Of the lanes that the verb is for, where something is to come of it.
JobRef Pair::pick_job(const Command& command) const {
  const JobRef any = pick_job(kQueues[command.queue], command.job);
  const bool finished = command.kind == Command::requeue || command.kind == Command::remove;
  const bool held = command.kind == Command::unhold;
  std::vector<std::string> ids;
  for (const std::string& id : model_.list(any.queue)) {
    const Lane lane = model_.find({any.queue, id})->lane;
    if (held ? lane == Lane::held : finished == (lane >= Lane::done)) ids.push_back(id);
  }
  if (!about_flows_ || command.job >= 9 || ids.empty()) return any;
  return {any.queue, ids[command.job % ids.size()]};
}

void Pair::perform_operator_verb(const Command& command) {
  const JobRef ref = pick_job(command);
  switch (command.kind) {
    case Command::cancel:
      return same("cancel", bench_->cancel(ref), [&] { return model_.cancel(ref); });
    case Command::requeue: {
      const RequeueRequest request{.queue = ref.queue, .id = ref.id, .keep_attempts = command.flag};
      return same("requeue", bench_->requeue(request), [&] { return model_.requeue(request); });
    }
    case Command::hold:
      return same("hold", bench_->hold(ref), [&] { return model_.hold(ref); });
    case Command::unhold:
      return same("unhold", bench_->unhold(ref), [&] { return model_.unhold(ref); });
    case Command::break_lease:
      return same("break_lease", bench_->break_lease(ref), [&] { return model_.break_lease(ref); });
    case Command::remove:
      return same("remove", bench_->remove(ref), [&] { return model_.remove(ref); });
    default:
      RC_FAIL("no such verb");
  }
}

void Pair::perform_queue_verb(const Command& command) {
  const std::string& queue = kQueues[command.queue];
  switch (command.kind) {
    case Command::configure:
      return same("configure", bench_->configure(queue, command.config),
                  [&] { return model_.configure(queue, command.config); });
    case Command::limit_group: {
      const std::string& group = kGroups[std::max<std::size_t>(command.group, 1)];
      const auto limit = command.flag || command.number > 3
                             ? std::nullopt
                             : std::optional(static_cast<std::uint32_t>(command.number));
      return same("limit_group", bench_->limit_group(queue, group, limit),
                  [&] { return model_.limit_group(queue, group, limit); });
    }
    case Command::pause:
      return same("pause", bench_->pause(queue), [&] { return model_.pause(queue, true); });
    case Command::resume:
      return same("resume", bench_->resume(queue), [&] { return model_.pause(queue, false); });
    case Command::remove_queue:
      return same("remove_queue", bench_->remove_queue(queue),
                  [&] { return model_.remove_queue(queue); });
    case Command::purge: {
      constexpr Lane kLanes[] = {Lane::done, Lane::dead, Lane::cancelled};
      const Lane lane = kLanes[command.job % 3];
      const auto limit = static_cast<std::uint64_t>(command.number + 1);
      const auto removed = bench_->purge(queue, lane, limit);
      learn_ids();
      const auto expected = model_.purge(queue, lane, limit);
      agree("purge", status_of(removed), status_of(expected).code());
      if (removed) RC_ASSERT(*removed == *expected);
      return;
    }
    default:
      RC_FAIL("no such verb");
  }
}

void Pair::perform(const Command& command) {
  switch (command.kind) {
    case Command::enqueue:
    case Command::enqueue_batch:
      return perform_enqueue(command);
    case Command::claim:
      return perform_claim(command);
    case Command::ack:
    case Command::ack_batch:
      return perform_ack(command);
    case Command::extend:
    case Command::fail:
    case Command::release:
      return perform_worker_verb(command);
    case Command::edit:
      return perform_edit(command);
    case Command::sweep:
      return sweep();
    case Command::advance:
      bench_.advance(milliseconds(command.time));
      return keep_time();
    case Command::advance_far:
      bench_.advance(kFar[command.job % std::size(kFar)]);
      return keep_time();
    case Command::cancel:
    case Command::requeue:
    case Command::hold:
    case Command::unhold:
    case Command::break_lease:
    case Command::remove:
      return perform_operator_verb(command);
    case Command::add_after:
      return perform_add_after(command);
    case Command::open_batch:
    case Command::seal_batch:
    case Command::cancel_batch:
      return perform_batch_verb(command);
    case Command::put_schedule:
    case Command::pause_schedule:
    case Command::resume_schedule:
    case Command::run_schedule:
    case Command::remove_schedule:
      return perform_schedule_verb(command);
    default:
      return perform_queue_verb(command);
  }
}

}  // namespace sluice::queue::model
