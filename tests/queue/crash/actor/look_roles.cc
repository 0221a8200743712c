// SPDX-License-Identifier: MIT
// The roles that look at what a kill left, and that empty the queues.
#include <chrono>
#include <iostream>

#include "tests/queue/crash/actor/actor.h"
#include "tests/queue/crash/actor/batches.h"
#include "tests/queue/crash/seen.h"
#include "tests/queue/crash/workload.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

using std::chrono::milliseconds;

Status say_jobs(queue::Queues& queues, const std::string& name) {
  std::string after;
  do {
    SLUICE_LET(page, queues.list({.queue = name, .after = after, .limit = queue::kPageMax}));
    std::string lines;
    for (const queue::Job& job : page.jobs) lines += encode_seen(seen_of(job)) + "\n";
    if (!lines.empty()) say(lines.substr(0, lines.size() - 1));
    after = page.next;
  } while (!after.empty());
  return {};
}

// Nothing stands in the way of the jobs any more: no limit, no hold, no pause.
Status lift_limits(queue::Queues& queues, const queue::Queue& queue) {
  queue::QueueConfig config = queue.config;
  config.active_max.reset();
  config.group_max.reset();
  config.done_retention = std::chrono::hours(1);
  SLUICE_TRY(queues.configure(queue.name, config));
  SLUICE_LET(groups, queues.list_groups(queue.name));
  for (const queue::Group& group : groups)
    if (group.limit) SLUICE_TRY(queues.limit_group(queue.name, group.name, {}));
  SLUICE_LET(held, queues.list(
                       {.queue = queue.name, .lane = queue::Lane::held, .limit = queue::kPageMax}));
  for (const queue::Job& job : held.jobs)
    SLUICE_TRY(queues.unhold({.queue = queue.name, .id = job.id}));
  return {};
}

Result<std::size_t> ack_some(queue::Queues& queues, const std::string& name) {
  SLUICE_LET(leases, queues.claim({.queues = {name},
                                   .jobs_max = 50,
                                   .lease = std::chrono::minutes(1),
                                   .wait = milliseconds(2)}));
  std::vector<queue::AckRequest> acks;
  for (const queue::Lease& lease : leases)
    acks.push_back({.queue = name, .token = lease.token, .result = std::string(kDrained)});
  std::string lines;
  const std::vector<Status> statuses = queues.ack(acks);
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    SLUICE_TRY(statuses[i]);
    lines += (i == 0 ? "claimed " : "\nclaimed ") + std::string(1, queue_letter(name)) + " " +
             leases[i].id;
  }
  if (!lines.empty()) say(lines);
  return leases.size();
}

Status drain_queue(queue::Queues& queues, const queue::Queue& queue) {
  SLUICE_TRY(lift_limits(queues, queue));
  const Stopwatch watch;
  while (!watch.reached(patience())) {
    SLUICE_TRY(queues.sweep());
    SLUICE_TRY(ack_some(queues, queue.name));
    SLUICE_LET(counts, queues.count(queue.name));
    if (counts.backlog() + counts.leased == 0) return {};
  }
  return error(Code::deadline_exceeded, "jobs of " + queue.name + " are never offered");
}

Status purge_queue(queue::Queues& queues, const queue::Queue& queue) {
  for (const queue::Lane lane : {queue::Lane::done, queue::Lane::dead, queue::Lane::cancelled})
    SLUICE_TRY(queues.purge(queue.name, lane));
  SLUICE_LET(counts, queues.count(queue.name));
  if (counts.total() != 0)
    return error(Code::corrupt, std::to_string(counts.total()) + " jobs of " + queue.name);
  return {};
}

}  // namespace

int run_verify(const Words& words) {
  const Opened opened = open_or_exit(words.text(0));
  const auto report = queue::verify(*opened.store);
  must(status_of(report), "verify");
  say(report->to_json());
  return report->exit_code();
}

int run_check(const Words& words) {
  const Stopwatch watch;
  const Opened opened = open_or_exit(words.text(0));
  say("open_us " + watch.shown_us());
  const auto report = queue::verify(*opened.store);
  must(status_of(report), "verify");
  if (!report->clean()) say("verify " + report->to_json());
  const auto queues = opened.queues->list_queues();
  must(status_of(queues), "list the queues");
  for (const queue::Queue& queue : *queues)
    if (queue.name != kBatchCalls) must(say_jobs(*opened.queues, queue.name), "list the jobs");
  const auto wrong = judge_batches(*opened.queues);
  must(status_of(wrong), "judge the batches");
  for (const std::string& sentence : *wrong) say(sentence);
  return 0;
}

int run_drain(const Words& words) {
  const Opened opened = open_or_exit(words.text(0));
  const auto queues = opened.queues->list_queues();
  must(status_of(queues), "list the queues");
  must(seal_batches(*opened.queues), "seal the batches");
  for (const queue::Queue& queue : *queues)
    if (queue.name != kBatchCalls) must(drain_queue(*opened.queues, queue), "drain");
  must(end_batches(*opened.queues), "end the batches");
  return 0;
}

int run_purge(const Words& words) {
  const Opened opened = open_or_exit(words.text(0));
  const auto queues = opened.queues->list_queues();
  must(status_of(queues), "list the queues");
  for (const queue::Queue& queue : *queues)
    if (queue.name != kBatchCalls) must(purge_queue(*opened.queues, queue), "purge");
  must(forget_batches(*opened.queues), "forget the batches");
  return 0;
}

}  // namespace sluice::test
