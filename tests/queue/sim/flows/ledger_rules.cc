// SPDX-License-Identifier: MIT
// What must hold of jobs with unique keys, of those that wait for others, and of those that a
// schedule or a batch enqueues.
#include <algorithm>

#include "tests/queue/sim/flows/ledger.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWide = 100;

std::string name_of(const Life& life) {
  return life.queue + "/" + life.id;
}

bool settles(const Life& parent, AfterPolicy policy) {
  return parent.lane == Lane::done || (parent.finished() && policy == AfterPolicy::end);
}

bool goes_on(Lane lane) {
  return lane == Lane::scheduled || lane == Lane::ready || lane == Lane::leased ||
         lane == Lane::done;
}

}  // namespace

Duration period_of(const std::string& cron) {
  if (cron == "* * * * *") return 1min;
  if (cron == "*/5 * * * *") return 5min;
  if (cron == "*/20 * * * *") return 20min;
  return 1h;
}

const Life* Ledger::key_holder_since(const std::string& queue, const std::string& key,
                                     std::uint64_t tick, WallTime time) const {
  const auto at = by_key_.find({queue, key});
  if (at == by_key_.end()) return nullptr;
  for (const Life* life : at->second) {
    // Within one transaction a new job's key is taken, whatever its lane.
    if (life->path.front().first > tick) return life;
    if (life->asked->unique->window > Duration{} && life->key_until() > time) return life;
    for (std::size_t i = 0; i < life->path.size(); ++i) {
      const bool last = i + 1 == life->path.size();
      const bool over =
          last ? life->gone != 0 && life->gone < tick : life->path[i + 1].first <= tick;
      if (!over && life->wants_key_in(life->path[i].second)) return life;
    }
  }
  return nullptr;
}

// A new job with a key: whoever had it before has left its lanes, and its window is over; or it has
// been replaced.
void Ledger::judge_key(Queues& observer, Life& life) {
  if (life.asked == nullptr || !life.asked->unique) return;
  const Unique& unique = *life.asked->unique;
  auto& others = by_key_[{life.queue, unique.key}];
  for (Life* other : others) {
    if (other->firm && other->finished() && !is_there(observer, *other)) other->firm = false;
    const bool replaces = unique.policy == UniquePolicy::replace;
    const bool just_left = other->path.back().first == tick_ && other->path.size() > 1;
    const bool replaced = replaces && just_left && other->lane == Lane::cancelled;
    const bool let_go = replaces && other->finished() && other->wants_key_in(other->lane);
    if (other->firm && !other->lost_key && !let_go)
      return fail("unique: " + name_of(life) + " was enqueued with the key " + unique.key +
                  ", which " + name_of(*other) + " holds in " + lane_name(other->lane));
    if (!other->lost_key && !replaced && !let_go && other->key_until() > life.born)
      return fail("unique: " + name_of(life) + " was enqueued with the key " + unique.key +
                  " in the window of " + name_of(*other));
    if (replaced && !other->lost_key) tally_.hit(FlowProbe::unique_replaced);
    if (replaced || let_go) other->lost_key = true;
  }
  if (!others.empty()) tally_.hit(FlowProbe::unique_taken_again);
  life.firm = life.wants_key_in(life.lane);
  others.push_back(&life);
}

// Those that are finished when a job begins to wait for them count as they are.
void Ledger::tie(Life& life) {
  if (life.asked == nullptr) return;
  for (const After& after : life.asked->after) {
    const auto at = by_id_.find({after.queue.empty() ? life.queue : after.queue, after.id});
    if (at == by_id_.end()) return fail("after: " + name_of(life) + " waits for nobody");
    Life& parent = *at->second;
    const bool settled = settles(parent, after.policy);
    life.waits.push_back({&parent, after.policy, settled});
    parent.dependants.push_back(&life);
    if (parent.queue != life.queue && !settled) tally_.hit(FlowProbe::waits_across_queues);
    if (parent.dependants.size() == kWide) tally_.hit(FlowProbe::wide_fan_out);
  }
  if (life.lane == Lane::waiting && std::ranges::all_of(life.waits, &Life::Wait::settled))
    tally_.hit(FlowProbe::release_put_off);
  if (life.lane == Lane::waiting && life.waits.size() >= kWide) tally_.hit(FlowProbe::wide_fan_in);
  if (life.lane == Lane::held && !life.waits.empty()) tally_.hit(FlowProbe::held_and_waiting);
}

void Ledger::look_at_waits(Queues& observer) {
  for (auto at = more_after_.begin(); at != more_after_.end();) {
    const auto job = observer.get({at->first, at->second}, {.after = true});
    if (!job && job.error().code() != Code::not_found) return;
    const auto known = by_id_.find(*at);
    at = more_after_.erase(at);
    if (!job || known == by_id_.end()) continue;
    Life& life = *known->second;
    for (const After& after : job->after) {
      const auto parent = by_id_.find({after.queue.empty() ? life.queue : after.queue, after.id});
      if (parent == by_id_.end()) return fail("after: " + name_of(life) + " waits for nobody");
      // Settled, but its release is still to be carried out.
      if (settles(*parent->second, after.policy)) continue;
      const bool old = std::ranges::any_of(life.waits, [&](const Life::Wait& wait) {
        return wait.parent == parent->second && !wait.settled;
      });
      if (old) continue;
      tally_.hit(FlowProbe::waits_for_more);
      life.waits.push_back({parent->second, after.policy, false});
      parent->second->dependants.push_back(&life);
    }
  }
}

// A waiting job says itself what it waits for; nothing of that may be missing.
void Ledger::compare_waits(Queues& observer) {
  constexpr std::size_t kLooksMax = 3;
  std::size_t looks = 0;
  for (const Life& life : lives_) {
    if (life.lane != Lane::waiting || looks == kLooksMax) continue;
    ++looks;
    const auto job = observer.get({life.queue, life.id}, {.after = true});
    if (!job) return;
    for (const Life::Wait& wait : life.waits) {
      const auto told = [&](const After& after) {
        return after.id == wait.parent->id && after.policy == wait.policy &&
               (after.queue.empty() ? life.queue : after.queue) == wait.parent->queue;
      };
      if (!wait.settled && std::ranges::none_of(job->after, told))
        return fail("after: " + name_of(life) + " does not say that it waits for " +
                    name_of(*wait.parent));
    }
  }
}

void Ledger::judge_going_on(const Life& life) {
  if (!goes_on(life.lane) || life.waits.empty()) return;
  bool failed = false;
  for (const Life::Wait& wait : life.waits) {
    if (!wait.settled)
      return fail("after: " + name_of(life) + " is " + lane_name(life.lane) + " although " +
                  name_of(*wait.parent) + " (" + policy_name(wait.policy) + ") is " +
                  lane_name(wait.parent->lane));
    failed = failed || wait.parent->lane > Lane::done;
  }
  tally_.hit(failed ? FlowProbe::released_by_end : FlowProbe::released_by_success);
}

void Ledger::judge_cancelled(const Life& life, Lane from, const std::vector<Life*>& born) {
  bool caused = cancels_.contains({life.queue, life.id});
  for (const Life::Wait& wait : life.waits) {
    if (wait.policy != AfterPolicy::cancel || wait.parent->lane <= Lane::done) continue;
    if (!caused) tally_.hit(FlowProbe::cancelled_by_parent);
    const bool parent_too = wait.parent->lane == Lane::cancelled &&
                            wait.parent->path.back().first == tick_ && !wait.parent->waits.empty();
    if (!caused && parent_too) tally_.hit(FlowProbe::cancelled_down_the_chain);
    caused = true;
  }
  if (const BatchLife* batch = life.asked ? find_batch(life.queue, life.asked->batch) : nullptr) {
    if (batch->cancel_asked && from == Lane::leased && !caused)
      tally_.hit(FlowProbe::batch_member_dropped_leased);
    caused = caused || batch->cancel_asked;
  }
  for (const Life* other : born)
    caused = caused || (other->asked && other->asked->unique && life.asked && life.asked->unique &&
                        other->asked->unique->policy == UniquePolicy::replace &&
                        other->asked->unique->key == life.asked->unique->key);
  if (!caused) fail("after: nobody cancelled " + name_of(life));
}

// Why a job is cancelled, or dead without ever having run.
void Ledger::judge_ending(Queues& observer, const Life& life, Lane from,
                          const std::vector<Life*>& born) {
  if (life.lane == Lane::cancelled) return judge_cancelled(life, from, born);
  if (life.lane != Lane::dead || (from != Lane::waiting && from != Lane::held)) return;
  const auto job = observer.get({life.queue, life.id}, {});
  if (!job || job->reason != DeathReason::orphaned) return;
  tally_.hit(FlowProbe::orphaned);
  for (const Life::Wait& wait : life.waits) {
    if (wait.settled || wait.policy != AfterPolicy::success) continue;
    if (wait.parent->lane > Lane::done && !is_there(observer, *wait.parent)) return;
  }
  fail("after: " + name_of(life) + " is orphaned, but what it waits for is there");
}

// One job for each planned time, and after a pause or a jump the last of those missed.
void Ledger::judge_fired(Life& life, const Job& job) {
  const auto at = schedules_.find({life.queue, job.schedule});
  if (at == schedules_.end() || !at->second.last)
    return fail("schedule: " + name_of(life) + " is of a schedule that is not there");
  ScheduleLife& schedule = at->second;
  const Schedule& was = *schedule.last;
  if (!job.planned) return fail("schedule: " + name_of(life) + " is planned for no time");
  scheduled_.push_back(was.job);
  life.asked = &scheduled_.back();
  ++schedule.fired;
  ++tally_.fired;
  const WallTime planned = *job.planned;
  if (planned.time_since_epoch() % Duration(1min) != Duration{}) {
    tally_.hit(FlowProbe::schedule_run_by_hand);
    if (planned != life.born)
      fail("schedule: " + name_of(life) + " was run by hand for another time");
    return;
  }
  tally_.hit(FlowProbe::schedule_fired);
  const Duration period = period_of(was.cron);
  const std::string text = name_of(life) + " of " + job.schedule + " (" + was.cron + ")";
  if (was.paused || !was.next) return fail("schedule: " + text + " although it is paused");
  if (planned.time_since_epoch() % period != Duration{})
    return fail("schedule: " + text + " is not of the calendar");
  if (planned < *was.next) return fail("schedule: " + text + " is earlier than was planned");
  if (planned > life.born) return fail("schedule: " + text + " is too early");
  if (planned + period <= life.born)
    return fail("schedule: " + text + " is not the last one missed");
  if (schedule.planned && planned <= *schedule.planned)
    return fail("schedule: " + text + " is not later than the one before");
  if (planned > *was.next) tally_.hit(FlowProbe::schedule_fired_once_for_many);
  schedule.planned = planned;
}

}  // namespace sluice::queue::sim
