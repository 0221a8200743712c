// SPDX-License-Identifier: MIT
// Whether the answers of calls agree with what is seen.
#include <algorithm>

#include "tests/queue/sim/oracle.h"

namespace sluice::queue::sim {
namespace {

// The verbs that make room, or that a worker needs to get there.
bool drains(const Call& call) {
  switch (call.verb) {
    case Verb::ack:
      return std::ranges::all_of(call.items, [](const Item& i) { return i.children.empty(); });
    case Verb::claim:
    case Verb::extend:
    case Verb::fail:
    case Verb::release:
    case Verb::cancel:
    case Verb::break_lease:
    case Verb::remove:
    case Verb::purge:
    case Verb::sweep:
      return true;
    default:
      return false;
  }
}

bool of_worker(Verb verb) {
  return verb == Verb::extend || verb == Verb::ack || verb == Verb::fail || verb == Verb::release;
}

const Seen* target(const Sight& sight, const Item& item) {
  const QueueSight* queue = sight.find(item.queue);
  if (queue == nullptr) return nullptr;
  return item.id.empty() ? queue->by_number(item.token.job) : queue->by_id(item.id);
}

// What the item would be answered at `time` if the store were as in `sight`.
Code answer(const Call& call, const Item& item, const Sight& sight, WallTime time) {
  const Seen* seen = target(sight, item);
  if (!of_worker(call.verb))
    return operator_answer(call.verb, seen ? std::optional(seen->job.lane) : std::nullopt);
  const bool held = seen != nullptr && seen->leased() && seen->job.claims == item.token.claim &&
                    seen->job.deadline > time;
  return held ? Code::ok : Code::lease_lost;
}

bool enqueue_answer_fits(const Call& call, const Item& item, const Sight& sight) {
  const QueueSight* queue = sight.find(item.job.queue);
  const Code code = item.status.code();
  if (code == Code::already_exists) return queue != nullptr && queue->by_id(item.job.id) != nullptr;
  std::uint64_t more = 0;
  for (const Item& other : call.items) {
    if (&other == &item) break;
    if (other.status.ok() && other.job.queue == item.job.queue) ++more;
  }
  const auto cap = queue ? queue->queue.config.backlog_max : std::nullopt;
  const bool full = cap && queue->backlog() + more >= *cap;
  if (code == Code::limit_exceeded) return full;
  return code != Code::ok || (!full && (queue == nullptr || item.job.id.empty() ||
                                        queue->by_id(item.job.id) == nullptr));
}

bool repeated(const Call& call, const Item& item) {
  for (const Item& other : call.items) {
    if (&other == &item) return false;
    const bool same =
        call.verb == Verb::enqueue
            ? other.job.queue == item.job.queue && other.job.id == item.job.id
            : other.queue == item.queue && other.id == item.id && other.token == item.token;
    if (same) return true;
  }
  return false;
}

}  // namespace

void Oracle::judge_answers(const Call& call, const Sight& begin, const Sight& before,
                           const Sight& after) {
  const Applied was_applied = applied(call.number);
  const bool full = call.status.code() == Code::storage_full ||
                    std::ranges::any_of(call.items, [](const Item& item) {
                      return item.status.code() == Code::storage_full;
                    });
  if (full && drains(call)) fail("P12: refused by a full store: " + call.to_string());
  if (call.verb != Verb::claim) claim_rules_.observe(call, before, after);
  if (call.doubtful()) {
    if (call.verb == Verb::claim) claim_rules_.forget();
    return learn_applied(call, before, after, call.ended);
  }
  if (was_applied == Applied::yes && full) return;  // Before it could be recognised.
  if (was_applied == Applied::yes) return judge_replay(call, after);
  if (call.verb == Verb::enqueue) judge_enqueued(call, after);
  if (was_applied == Applied::no && !full && !call.put_off) judge_refusals(call, begin, before);
  if (call.verb == Verb::claim && call.status.ok()) {
    judge_leases(call, after, false);
    if (was_applied == Applied::no)
      if (auto wrong = claim_rules_.judge(call, begin, before, after)) fail(*wrong);
  }
  note_completions(call);
  if (call.operation.empty() || !call.status.ok()) return;
  // A claim that got nothing has done nothing, and is not remembered.
  const bool any_ok = !call.leases.empty() ||
                      std::ranges::any_of(call.items, [](const Item& i) { return i.status.ok(); });
  applied_[call.number] = any_ok ? Applied::yes : Applied::maybe;
  if (any_ok) answered_[call.number] = call;
}

void Oracle::judge_refusals(const Call& call, const Sight& begin, const Sight& before) {
  if (call.items.empty()) {
    const bool known = call.status.ok() || call.status.code() == Code::storage_full ||
                       (call.verb == Verb::configure && call.status.code() == Code::conflict);
    if (!known)
      fail("P11: refused without a reason: " + call.to_string() + " " + call.status.to_string());
    return;
  }
  const auto refused = [](const Item& item) { return !item.status.ok(); };
  const bool none_done = call.all_or_none && std::ranges::any_of(call.items, refused);
  if (none_done && !std::ranges::all_of(call.items, refused))
    fail("P11: all or none, but only some: " + call.to_string());
  if (none_done) return;
  for (const Item& item : call.items) {
    const Code code = item.status.code();
    if (code == Code::storage_full || repeated(call, item)) continue;
    bool fits = false;
    for (const Sight* sight : {&begin, &before})
      for (const WallTime time : {call.begun, call.ended})
        fits |= call.verb == Verb::enqueue ? enqueue_answer_fits(call, item, *sight)
                                           : code == answer(call, item, *sight, time);
    // A child may be refused, and the ack with it.
    const bool child =
        !item.children.empty() && (code == Code::already_exists || code == Code::limit_exceeded);
    if (!fits && !child && !(call.verb == Verb::enqueue && call.intruded))
      fail("P4/P11: wrong answer " + item.status.to_string() + " to " + call.to_string());
    const Seen* seen = target(before, item);
    if (seen == nullptr) continue;
    if (call.verb == Verb::cancel && code == Code::ok && seen->leased())
      tally_.hit(Probe::leased_cancelled);
    if (call.verb == Verb::release && code == Code::ok && !item.span)
      tally_.hit(Probe::released_to_its_place);
    if (of_worker(call.verb) && code == Code::lease_lost) {
      if (seen->job.claims > item.token.claim) tally_.hit(Probe::stale_token_refused);
      const bool still = seen->leased() && seen->job.claims == item.token.claim;
      if (still && call.verb == Verb::ack) tally_.hit(Probe::lease_expired_before_ack);
      if (still && seen->job.deadline == call.begun) tally_.hit(Probe::refused_at_the_deadline);
    }
  }
}

void Oracle::judge_enqueued(const Call& call, const Sight& after) {
  for (const Item& item : call.items) {
    if (!item.status.ok()) continue;
    const QueueSight* queue = after.find(item.job.queue);
    const Seen* seen = queue ? queue->by_id(item.new_id) : nullptr;
    if (seen == nullptr || seen->job.payload != item.job.payload)
      fail("P2: " + nonce_in(item.job.payload) + " was acknowledged as " + item.new_id +
           " and is not there");
  }
}

void Oracle::judge_leases(const Call& call, const Sight& after, bool replay) {
  // A repetition writes nothing, so that what it read may be over by the time it is told.
  if (replay && call.intruded) return;
  if (call.leases.size() > call.claim.jobs_max)
    fail("P11: more jobs than asked for: " + call.to_string());
  for (const Lease& lease : call.leases) {
    const QueueSight* queue = after.find(lease.queue);
    const Seen* seen = queue ? queue->by_number(lease.token.job) : nullptr;
    if (seen == nullptr || !seen->leased() || seen->job.claims != lease.token.claim)
      return fail("P3: " + lease.id + " was handed out and is not leased under that token");
    const Job& job = seen->job;
    const bool agrees = lease.id == job.id && lease.group == job.group &&
                        lease.deadline == job.deadline && lease.attempt == job.attempts &&
                        lease.priority == job.priority && lease.payload == job.payload &&
                        job.worker == call.claim.worker;
    if (!agrees) fail("P3: the lease of " + lease.id + " is not what the store says");
    auto [at, first] = tokens_.try_emplace({lease.queue, lease.id}, lease.token);
    if (!first && !replay && at->second >= lease.token)
      fail("P4: the token of " + lease.id + " has not increased");
    at->second = std::max(at->second, lease.token);
  }
}

// The same operation again: nothing has changed (judge() has seen to that), and the answer is the
// one that was given, or would have been.
void Oracle::judge_replay(const Call& call, const Sight& after) {
  const auto first = answered_.find(call.number);
  if (call.verb == Verb::claim) {
    if (!call.status.ok()) return fail("P6: a repeated claim failed: " + call.to_string());
    tally_.hit(Probe::claim_replayed);
    judge_leases(call, after, true);
    std::size_t held = 0;
    for (const QueueSight& queue : after.queues)
      held += static_cast<std::size_t>(std::ranges::count_if(queue.jobs, [&](const Seen& seen) {
        return seen.leased() && seen.job.worker == call.claim.worker &&
               seen.job.deadline > call.ended;
      }));
    if (call.leases.size() < held)
      fail("P6: a repeated claim answered with fewer leases than are held: " + call.to_string());
    return;
  }
  for (std::size_t i = 0; i < call.items.size(); ++i) {
    const Item& item = call.items[i];
    if (first != answered_.end()) {
      const Item& then = first->second.items[i];
      if (!(then.status == item.status) || then.new_id != item.new_id ||
          then.deadline != item.deadline)
        fail("P6: another answer to the same operation: " + call.to_string());
    } else if (!call.batch && !item.status.ok()) {
      fail("P6: a repeated operation that had happened was refused: " + call.to_string());
    }
    if (call.verb != Verb::enqueue || !item.status.ok()) continue;
    const auto id = ids_born_.find(nonce_of(call, i));
    if (id == ids_born_.end() || id->second != item.new_id)
      fail("P6: a repeated enqueue answered with another id: " + call.to_string());
  }
  if (first != answered_.end()) return;
  note_completions(call);
  answered_[call.number] = call;
}

void Oracle::acknowledge(const Call& call) {
  if (answered_.contains(call.number)) return;  // By a repetition that came first.
  const bool any_ok =
      std::ranges::any_of(call.items, [](const Item& item) { return item.status.ok(); });
  if (any_ok && applied(call.number) == Applied::no)
    fail("P1: acknowledged, and not seen: " + call.to_string());
  note_completions(call);
  if (call.operation.empty() || !any_ok) return;
  applied_[call.number] = Applied::yes;
  answered_[call.number] = call;
}

void Oracle::note_completions(const Call& call) {
  if (call.verb != Verb::ack && call.verb != Verb::fail && call.verb != Verb::release) return;
  for (const Item& item : call.items)
    if (item.status.ok() && !completed_.insert({item.queue, item.token}).second)
      fail("P5: completed twice: " + item.token.to_string() + " by " + call.to_string());
}

// What a doubtful call has done can be seen, except where doing it changes nothing to see.
void Oracle::learn_applied(const Call& call, const Sight& before, const Sight& after,
                           WallTime now) {
  Applied& known = applied_[call.number];
  if (known == Applied::yes) return;
  if (call.verb == Verb::claim) {
    known = Applied::maybe;
    for (const QueueSight& queue : after.queues)
      for (const Seen& seen : queue.jobs)
        if (seen.leased() && seen.job.worker == call.claim.worker) known = Applied::yes;
    return;
  }
  bool maybe = known == Applied::maybe;
  for (std::size_t i = 0; i < call.items.size(); ++i) {
    const Item& item = call.items[i];
    if (call.verb == Verb::enqueue) {
      if (born_.contains(nonce_of(call, i))) known = Applied::yes;
      continue;
    }
    const Seen* was = target(before, item);
    if (was == nullptr) continue;
    const QueueSight* queue = after.find(item.queue);
    const Seen* is = queue->by_number(was->job.number);
    Circumstances about{.now = now,
                        .before = &before.find(item.queue)->queue.config,
                        .after = &queue->queue.config};
    const Job* job = is ? &is->job : nullptr;
    const bool without = explain(was->job, job, about).has_value();
    about.moves = {{&call, &item, true}};
    const bool with = explain(was->job, job, about).has_value();
    if (with && !without) known = Applied::yes;
    if (with && without) maybe = true;
  }
  if (known != Applied::yes) known = maybe ? Applied::maybe : Applied::no;
}

}  // namespace sluice::queue::sim
