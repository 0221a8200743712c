// SPDX-License-Identifier: MIT
// The end of every run: the trouble stops, and everything that was enqueued has to come to an end.
#include <algorithm>

#include "tests/queue/sim/world.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kRoundsMax = 2'000;
constexpr std::size_t kClaimAll = 64;

}  // namespace

// The next moment after now at which time alone changes something.
std::optional<WallTime> World::next_event() const {
  std::optional<WallTime> next;
  const auto consider = [&](const std::optional<WallTime>& time) {
    if (time && *time > now() && (!next || *time < *next)) next = *time;
  };
  for (const QueueSight& queue : sight().queues)
    for (const Seen& seen : queue.jobs) {
      if (seen.leased()) consider(seen.job.deadline);
      if (seen.job.lane == Lane::scheduled) consider(seen.job.due);
      if (!seen.leased() && !seen.finished()) consider(seen.job.expires);
    }
  return next;
}

void World::perform_until_done(Call call) {
  perform(call);
  if (!call.status.ok() && !violation())
    oracle_->fail("P14: failed although nothing is wrong: " + call.to_string() + " " +
                  call.status.to_string());
}

void World::heal_queue(const QueueSight& queue) {
  const std::string name = queue.queue.name;
  Call resume = new_call(Verb::resume, 0, false);
  resume.queue = name;
  perform_until_done(resume);
  Call configure = new_call(Verb::configure, 0, false);
  configure.queue = name;
  configure.config = queue.queue.config;
  if (configure.config.active_max == 0u) configure.config.active_max = 1;
  if (configure.config.group_max == 0u) configure.config.group_max = 1;
  perform_until_done(configure);
  for (const Group& group : queue.groups) {
    if (group.limit != 0u) continue;
    Call limit = new_call(Verb::limit_group, 0, false);
    limit.queue = name;
    limit.group = group.name;
    perform_until_done(limit);
  }
  for (const Seen& seen : queue.jobs) {
    if (seen.job.lane != Lane::held) continue;
    Call unhold = new_call(Verb::unhold, 0, false);
    unhold.items = {{.queue = name, .id = seen.job.id}};
    perform_until_done(unhold);
  }
}

void World::drain() {
  trace_.note("healed");
  healed_ = true;
  intrusion_ = 0;
  store_->clear_chances();
  store_->sync();
  store_->hold_syncs(false);
  hold_syncs_ = false;
  collect_pending();
  for (std::size_t i = 0; i < processes_.size(); ++i) restart(i);
  const SightPtr at_first = oracle_->sight();
  for (const QueueSight& queue : at_first->queues)
    if (!violation()) heal_queue(queue);
  for (unsigned round = 0; !violation(); ++round) {
    if (round == kRoundsMax) return oracle_->fail("P14: the queues do not drain: " + reasons());
    if (!drain_round()) break;
  }
  if (!violation()) check_end();
}

// What the queues themselves say about the jobs that are left.
std::string World::reasons() {
  std::string text;
  for (const QueueSight& queue : sight().queues)
    for (const Seen& seen : queue.jobs) {
      if (seen.finished()) continue;
      text += "\n  " + queue.queue.name + "/" + seen.job.id + " " + lane_name(seen.job.lane) + ":";
      const auto why = processes_[0].queues->explain({queue.queue.name, seen.job.id});
      if (!why) text += " " + why.error().to_string();
      if (why)
        for (const std::string& reason : why->reasons) text += " " + reason;
    }
  return text;
}

// Sweeps, and claims and acks until nothing more is offered. Returns whether something is left.
bool World::drain_round() {
  Call sweep = new_call(Verb::sweep, 1, false);
  sweep.count_max = 10'000;
  perform(sweep);
  if (violation()) return false;
  if (!sweep.status.ok()) oracle_->fail("P14: the sweep failed: " + sweep.status.to_string());
  for (;;) {
    Call claim = new_call(Verb::claim, 0, false);
    claim.claim = {.queues = names_,
                   .jobs_max = kClaimAll,
                   .lease = 1min,
                   .worker = "c" + std::to_string(claim.number)};
    perform(claim);
    if (violation()) return false;
    if (claim.leases.empty()) break;
    Call ack = new_call(Verb::ack, 0, false);
    ack.batch = true;
    for (const Lease& lease : claim.leases)
      ack.items.push_back({.queue = lease.queue, .token = lease.token});
    perform(ack);
    if (violation()) return false;
  }
  check_nothing_left_out();
  const bool left = std::ranges::any_of(sight().queues, [](const QueueSight& queue) {
    return std::ranges::any_of(queue.jobs, [](const Seen& seen) { return !seen.finished(); });
  });
  if (!left || violation()) return false;
  const auto next = next_event();
  const bool limited = std::ranges::any_of(sight().queues, [](const QueueSight& queue) {
    const auto& active_max = queue.queue.config.active_max;
    if (!queue.queue.config.rate || (active_max && queue.active() >= *active_max)) return false;
    return std::ranges::any_of(queue.jobs, [&](const Seen& seen) {
      return seen.ready() && !queue.group_full(seen.job.group);
    });
  });
  if (!next && !limited) {
    oracle_->fail("P14: jobs are left that nothing will ever move: " + reasons());
    return false;
  }
  const Duration pause = next ? *next - now() : Duration(1s);
  clock_.advance(limited ? std::min<Duration>(pause, 1s) : pause);
  return true;
}

// After a sweep and claims to the end, whatever is not offered has a reason.
void World::check_nothing_left_out() {
  for (const QueueSight& queue : sight().queues)
    for (const Seen& seen : queue.jobs) {
      const Job& job = seen.job;
      const std::string name = queue.queue.name + "/" + job.id;
      if (seen.leased() && job.deadline <= now())
        oracle_->fail("P14: the lease of " + name + " is over and nobody noticed");
      if (job.lane == Lane::scheduled && job.due <= now())
        oracle_->fail("P14: " + name + " is due and was not offered");
      if (!seen.leased() && !seen.finished() && job.expires && *job.expires <= now())
        oracle_->fail("P14: " + name + " is past its time to live");
      const auto& active_max = queue.queue.config.active_max;
      const bool excused = queue.group_full(job.group) || queue.queue.config.rate ||
                           (active_max && queue.active() >= *active_max);
      if (seen.ready() && !excused) oracle_->fail("P14: " + name + " is ready and was not offered");
    }
}

void World::check_end() {
  check_store();
  std::uint64_t kept = 0;
  for (const QueueSight& queue : sight().queues) {
    const auto counts = processes_[0].queues->count(queue.queue.name);
    if (!counts) return oracle_->fail("the end cannot be counted: " + counts.error().to_string());
    kept += queue.jobs.size();
    if (counts->backlog() + counts->leased != 0 || counts->total() != queue.jobs.size())
      oracle_->fail("P2: wrong counts at the end of " + queue.queue.name);
  }
  const SightPtr at_end = oracle_->sight();
  for (const QueueSight& queue : at_end->queues)
    for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
      Call purge = new_call(Verb::purge, 0, false);
      purge.queue = queue.queue.name;
      purge.lane = lane;
      purge.count_max = UINT64_MAX;
      perform_until_done(purge);
      if (violation()) return;
    }
  if (sight().job_count() != 0) oracle_->fail("P14: jobs are left after everything was purged");
  for (const std::string& name : names_)
    if (const Status status = processes_[0].queues->remove_queue(name); !status.ok())
      oracle_->fail("a drained queue cannot be removed: " + status.to_string());
  check_store();
  trace_.note("drained " + std::to_string(oracle_->enqueued()) + ", kept " + std::to_string(kept));
}

}  // namespace sluice::queue::sim
