// SPDX-License-Identifier: MIT
// Random sequences of calls on every engine, against the reference model: the same answers, the
// same order, the same jobs in the same lanes after every call.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "queue/testing.h"
#include "tests/queue/model/commands.h"
#include "tests/queue/model/model.h"
#include "tests/support/run_size.h"

namespace sluice::queue {
namespace {

using model::Command;
using model::commands;
using model::kGroups;
using model::kQueues;
using model::Model;
using model::Ms;
using std::chrono::milliseconds;

// ------------------------------------------------------------------------------------ both worlds

/// A token as both know it.
struct Held {
  std::string queue;
  Token real;
  model::Token told;
};

class Pair {
 public:
  explicit Pair(const Bench& bench) : bench_(bench) { keep_time(); }

  void perform(const Command& command);
  void compare(std::size_t step);

 private:
  void keep_time() {
    model_.now = std::chrono::floor<milliseconds>(bench_.now().time_since_epoch()).count();
  }
  void same(const char* what, const Status& real, Code expected) {
    if (real.code() != expected)
      RC_LOG() << what << ": " << real.to_string() << ", expected " << code_name(expected) << "\n";
    RC_ASSERT(real.code() == expected);
  }
  NewJob new_job(const Command& command, std::size_t offset = 0) const;
  JobRef pick_job(const Command& command) const;
  Held pick_token(std::size_t index) const;

  void perform_enqueue(const Command& command);
  void perform_claim(const Command& command);
  void perform_ack(const Command& command);
  void perform_worker_verb(const Command& command);
  void perform_operator_verb(const Command& command);
  void perform_edit(const Command& command);
  void perform_queue_verb(const Command& command);
  void sweep();
  void compare_queue(const std::string& queue, std::size_t step);
  std::string real_text(const std::string& queue, std::size_t page);
  std::string model_text(const std::string& queue) const;

  const Bench& bench_;
  Model model_;
  std::vector<Held> tokens_;
  std::map<std::pair<std::string, std::string>, Token> highest_;
};

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

JobRef Pair::pick_job(const Command& command) const {
  const std::string& queue = kQueues[command.queue];
  const auto ids = model_.list(queue);
  if (command.job < ids.size()) return {queue, ids[ids.size() - 1 - command.job]};
  return {queue, "job-" + std::to_string(command.job)};
}

// The newest half of the time; else an older one, which is often over.
Held Pair::pick_token(std::size_t index) const {
  if (tokens_.empty()) return {.queue = kQueues[0], .real = {}, .told = {}};
  const std::size_t back = index < 6 ? index / 2 : index - 3;
  return tokens_[tokens_.size() - 1 - back % tokens_.size()];
}

void Pair::perform_enqueue(const Command& command) {
  if (command.kind == Command::enqueue) {
    const NewJob job = new_job(command);
    return same("enqueue", status_of(bench_->enqueue(job)), model_.enqueue(job));
  }
  std::vector<NewJob> jobs;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(command.number); ++i)
    jobs.push_back(new_job(command, i * 5));
  Model after = model_;
  const std::vector<Code> expected = after.enqueue(jobs);
  const bool refused = std::ranges::any_of(expected, [](Code code) { return code != Code::ok; });
  const auto results = bench_->enqueue(jobs, {.all_or_none = command.flag});
  RC_ASSERT(results.size() == jobs.size());
  if (command.flag && refused) {
    for (const auto& result : results) RC_ASSERT(!result);
    return;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) same("batch", status_of(results[i]), expected[i]);
  model_ = after;
}

void Pair::sweep() {
  const auto swept = bench_->sweep();
  const Swept expected = model_.sweep();
  same("sweep", status_of(swept), Code::ok);
  RC_ASSERT(swept->lapsed == expected.lapsed);
  RC_ASSERT(swept->expired == expected.expired);
  RC_ASSERT(swept->due == expected.due);
  RC_ASSERT(swept->removed == expected.removed);
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
  const auto claims = model_.claim(request);
  same("claim", status_of(leases), Code::ok);
  std::vector<std::string> real, told;
  for (const Lease& lease : *leases)
    real.push_back(lease.queue + "/" + lease.id + " attempt " + std::to_string(lease.attempt) +
                   " until " + std::to_string(lease.deadline.time_since_epoch() / milliseconds(1)));
  for (const model::Claim& claim : claims)
    told.push_back(claim.queue + "/" + claim.id + " attempt " + std::to_string(claim.attempt) +
                   " until " + std::to_string(claim.deadline));
  RC_ASSERT(real == told);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Lease& lease = (*leases)[i];
    Token& highest = highest_[{lease.queue, lease.id}];
    RC_ASSERT(lease.token > highest);
    highest = lease.token;
    tokens_.push_back({.queue = lease.queue, .real = lease.token, .told = claims[i].token});
  }
}

void Pair::perform_ack(const Command& command) {
  if (command.kind == Command::ack) {
    const Held held = pick_token(command.job);
    std::vector<NewJob> children;
    for (int i = 1; i < command.number - 1; ++i)
      children.push_back(new_job(command, static_cast<std::size_t>(i)));
    return same("ack", bench_->ack({.queue = held.queue, .token = held.real, .children = children}),
                model_.ack(held.queue, held.told, children));
  }
  std::vector<AckRequest> requests;
  std::vector<std::pair<std::string, model::Token>> told;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(command.number); ++i) {
    const Held held = pick_token(command.job + i);
    requests.push_back({.queue = held.queue, .token = held.real});
    told.push_back({held.queue, held.told});
  }
  const std::vector<Code> expected = model_.ack(told);
  const auto results = bench_->ack(requests);
  RC_ASSERT(results.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) same("ack batch", results[i], expected[i]);
}

void Pair::perform_worker_verb(const Command& command) {
  const Held held = pick_token(command.job);
  if (command.kind == Command::extend) {
    const auto lease = command.time > 0 ? std::optional<Duration>(milliseconds(command.time))
                                        : std::optional<Duration>();
    const auto until =
        bench_->extend({.queue = held.queue, .token = held.real, .lease = lease, .progress = "p"});
    return same("extend", status_of(until), model_.extend(held.queue, held.told, lease));
  }
  if (command.kind == Command::fail) {
    FailRequest request{.queue = held.queue, .token = held.real, .dead = command.flag};
    if (command.number > 2) request.delay = milliseconds(command.time);
    return same("fail", bench_->fail(request), model_.fail(held.queue, held.told, request));
  }
  const Duration delay = milliseconds(command.number > 2 ? command.time : 0);
  same("release", bench_->release({.queue = held.queue, .token = held.real, .delay = delay}),
       model_.release(held.queue, held.told, delay));
}

void Pair::perform_edit(const Command& command) {
  const JobRef ref = pick_job(command);
  EditRequest request{.queue = ref.queue, .id = ref.id};
  if (command.number % 2 == 0) request.priority = command.number - 2;
  if (command.number % 3 == 0) request.due = bench_.now() + milliseconds(command.time - 1);
  if (command.flag || command.number == 1 || command.number == 5)
    request.payload = "edited " + std::to_string(command.job);
  same("edit", bench_->edit(request), model_.edit(request));
}

void Pair::perform_operator_verb(const Command& command) {
  const JobRef ref = pick_job(command);
  switch (command.kind) {
    case Command::cancel:
      return same("cancel", bench_->cancel(ref), model_.cancel(ref));
    case Command::requeue: {
      const RequeueRequest request{.queue = ref.queue, .id = ref.id, .keep_attempts = command.flag};
      return same("requeue", bench_->requeue(request), model_.requeue(request));
    }
    case Command::hold:
      return same("hold", bench_->hold(ref), model_.hold(ref));
    case Command::unhold:
      return same("unhold", bench_->unhold(ref), model_.unhold(ref));
    case Command::break_lease:
      return same("break_lease", bench_->break_lease(ref), model_.break_lease(ref));
    case Command::remove:
      return same("remove", bench_->remove(ref), model_.remove(ref));
    default:
      RC_FAIL("no such verb");
  }
}

void Pair::perform_queue_verb(const Command& command) {
  const std::string& queue = kQueues[command.queue];
  switch (command.kind) {
    case Command::configure:
      return same("configure", bench_->configure(queue, command.config),
                  model_.configure(queue, command.config));
    case Command::limit_group: {
      const std::string& group = kGroups[std::max<std::size_t>(command.group, 1)];
      const auto limit = command.flag || command.number > 3
                             ? std::nullopt
                             : std::optional(static_cast<std::uint32_t>(command.number));
      return same("limit_group", bench_->limit_group(queue, group, limit),
                  model_.limit_group(queue, group, limit));
    }
    case Command::pause:
      return same("pause", bench_->pause(queue), model_.pause(queue, true));
    case Command::resume:
      return same("resume", bench_->resume(queue), model_.pause(queue, false));
    case Command::remove_queue:
      return same("remove_queue", bench_->remove_queue(queue), model_.remove_queue(queue));
    case Command::purge: {
      constexpr Lane kLanes[] = {Lane::done, Lane::dead, Lane::cancelled};
      const Lane lane = kLanes[command.job % 3];
      const auto limit = static_cast<std::uint64_t>(command.number + 1);
      const auto removed = bench_->purge(queue, lane, limit);
      const auto expected = model_.purge(queue, lane, limit);
      same("purge", status_of(removed), status_of(expected).code());
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
    case Command::cancel:
    case Command::requeue:
    case Command::hold:
    case Command::unhold:
    case Command::break_lease:
    case Command::remove:
      return perform_operator_verb(command);
    default:
      return perform_queue_verb(command);
  }
}

// ------------------------------------------------------------------------------------- comparing

std::string text_of(const Counts& counts) {
  std::string text;
  for (std::uint8_t lane = 1; lane <= kLaneCount; ++lane)
    text += " " + std::to_string(counts.of(static_cast<Lane>(lane)));
  return text;
}

std::string limit_text(std::optional<std::uint32_t> limit) {
  return limit ? std::to_string(*limit) : "none";
}

// What both know of a job, in the same words.
std::string text_of(const Job& job) {
  std::ostringstream out;
  const auto ms = [](std::optional<WallTime> time) {
    return time ? time->time_since_epoch() / milliseconds(1) : 0;
  };
  out << job.id << " " << lane_name(job.lane) << " group=" << job.group << " p=" << job.priority
      << " attempts=" << job.attempts << " lapses=" << job.lapses << " claims=" << job.claims << " "
      << reason_name(job.reason) << " payload=" << job.payload.value_or("none");
  if (job.lane == Lane::scheduled) out << " due=" << ms(job.due);
  if (job.lane == Lane::leased) out << " deadline=" << ms(job.deadline);
  if (job.lane > Lane::leased) out << " finished=" << ms(job.finished);
  return out.str();
}

std::string text_of(const model::Job& job) {
  std::ostringstream out;
  out << job.id << " " << lane_name(job.lane) << " group=" << job.group << " p=" << job.priority
      << " attempts=" << job.attempts << " lapses=" << job.lapses << " claims=" << job.claims << " "
      << reason_name(job.reason) << " payload=" << job.payload;
  if (job.lane == Lane::scheduled) out << " due=" << job.due;
  if (job.lane == Lane::leased) out << " deadline=" << job.deadline;
  if (job.lane > Lane::leased) out << " finished=" << job.since;
  return out.str();
}

std::vector<Job> list_all(const Bench& bench, ListRequest request) {
  std::vector<Job> jobs;
  do {
    auto page = bench->list(request);
    if (!page) RC_FAIL("list: " + page.error().to_string());
    jobs.insert(jobs.end(), page->jobs.begin(), page->jobs.end());
    request.after = page->next;
  } while (!request.after.empty());
  return jobs;
}

std::string Pair::real_text(const std::string& queue, std::size_t page) {
  const auto found = bench_->get_queue(queue);
  if (!found) return code_name(found.error().code());
  std::string text = found->paused ? "paused\n" : "";
  text += "counts" + text_of(bench_->count(queue).value()) + "\n";
  for (const Job& job : list_all(bench_, {.queue = queue, .limit = page, .payload = true}))
    text += text_of(job) + "\n";
  const auto groups = bench_->list_groups(queue);
  if (!groups) return text + groups.error().to_string();
  for (const Group& group : *groups)
    text += "group " + group.name + " " + limit_text(group.limit) + ":" +
            text_of(bench_->count(queue, group.name).value()) + "\n";
  return text;
}

std::string Pair::model_text(const std::string& queue) const {
  const model::Queue* found = model_.find(queue);
  if (found == nullptr) return code_name(Code::not_found);
  std::string text = found->paused ? "paused\n" : "";
  text += "counts" + text_of(model_.count(queue)) + "\n";
  for (const std::string& id : model_.list(queue))
    text += text_of(*model_.find({queue, id})) + "\n";
  for (const auto& [name, group] : found->groups)
    if (!name.empty())
      text += "group " + name + " " + limit_text(group.limit) + ":" +
              text_of(model_.count(queue, name)) + "\n";
  return text;
}

void Pair::compare_queue(const std::string& queue, std::size_t step) {
  RC_ASSERT(real_text(queue, 1 + step % 7) == model_text(queue));
  if (model_.find(queue) == nullptr) return;
  const Lane lane = static_cast<Lane>(1 + step % kLaneCount);
  const std::string& group = kGroups[step / kLaneCount % kGroups.size()];
  std::vector<std::string> real;
  for (const Job& job :
       list_all(bench_, {.queue = queue, .lane = lane, .group = group, .limit = 1 + step % 3}))
    real.push_back(job.id);
  std::vector<std::string> told = model_.list(queue, lane, group);
  std::ranges::sort(real);
  std::ranges::sort(told);
  RC_ASSERT(real == told);
  if (model_.find(queue)->reviewing) return;  // Blocked groups are let in by the next claim.
  const auto next = bench_->peek(queue, 1 + step % 5);
  same("peek", status_of(next), Code::ok);
  std::vector<std::string> peeked;
  for (const Job& job : *next) peeked.push_back(job.id);
  RC_ASSERT(peeked == model_.peek(queue, 1 + step % 5));
}

void Pair::compare(std::size_t step) {
  for (const std::string& queue : kQueues) compare_queue(queue, step);
}

std::atomic<std::uint64_t> commands_done = 0;

void play(Bench& bench, const std::vector<Command>& sequence) {
  bench.queues.reset();
  kv::must_run(bench.opened, [](kv::Transaction& txn) {
    txn.erase_range(kv::Range::all());
    return Status();
  });
  auto queues = Queues::open(bench.store(), {.random = bench.random.get()});
  RC_ASSERT(status_of(queues).code() == Code::ok);
  bench.queues = std::move(*queues);
  Pair pair(bench);
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    RC_LOG() << "command " << i << "\n";
    pair.perform(sequence[i]);
    pair.compare(i);
    if (i % 8 == 7) RC_ASSERT(breaches(bench) == "");
    ++commands_done;
  }
  RC_ASSERT(breaches(bench) == "");
}

class QueueModelTest : public OnEngines {};

// RC_PARAMS="seed=..." repeats a failing run; rapidcheck prints the line.
TEST_P(QueueModelTest, sequences_of_calls_agree_with_the_model) {
  Bench bench = open();
  const bool slow = GetParam() == EngineKind::lmdb;
  const test::RunSize sizes{100, slow ? 500u : 750u, slow ? 10'000u : 15'000u};
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = static_cast<int>(sizes.pick());
  params.maxSize = 150;
  rc::detail::TestMetadata metadata;
  metadata.id = std::string("QueueModelTest/") + engine_name(GetParam());
  commands_done = 0;
  const auto result = rc::detail::checkTestable(
      [&] { play(bench, *rc::gen::container<std::vector<Command>>(commands())); }, metadata,
      params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << message.str();
  const std::string suffix = std::string("_") + engine_name(GetParam());
  test::print_figure("queue.model.sequences" + suffix, sizes.pick());
  test::print_figure("queue.model.commands" + suffix, commands_done);
}

INSTANTIATE_ON_ENGINES(QueueModelTest);

}  // namespace
}  // namespace sluice::queue
