// SPDX-License-Identifier: MIT
// What became of each job, and whether it can be explained. What the calls answered is judged in
// oracle_answers.cc.
#include "tests/queue/sim/oracle.h"

#include <algorithm>
#include <tuple>

namespace sluice::queue::sim {
namespace {

auto essence(const Job& job) {
  return std::tie(job.lane, job.attempts, job.claims, job.lapses, job.priority, job.due,
                  job.expires, job.deadline, job.finished, job.reason);
}

bool concerns(const Call& call, const Item& item, const Job& job) {
  if (item.queue != job.queue || call.verb == Verb::enqueue) return false;
  return item.id.empty() ? item.token.job == job.number : item.id == job.id;
}

std::string describe(const Job& job) {
  const auto ms = [](const std::optional<WallTime>& time) {
    return time ? std::to_string(time->time_since_epoch().count() / 1'000'000) : std::string("-");
  };
  return std::string(lane_name(job.lane)) + " (attempts " + std::to_string(job.attempts) +
         ", claims " + std::to_string(job.claims) + ", lapses " + std::to_string(job.lapses) +
         ", priority " + std::to_string(job.priority) + ", due " + ms(job.due) + ", expires " +
         ms(job.expires) + ", deadline " + ms(job.deadline) + ", finished " + ms(job.finished) +
         ", " + reason_name(job.reason) + ", worker " + job.worker + ")";
}

// How `call` may have touched `job`, if its answer does (not) count.
void add_moves(std::vector<Move>& moves, const Call& call, bool settled, Applied applied,
               const Job& job) {
  const bool certain = settled && !call.doubtful() && applied == Applied::no;
  if (settled && applied == Applied::yes) return;
  if (call.verb == Verb::claim) {
    const bool told = std::ranges::any_of(call.leases, [&](const Lease& lease) {
      return lease.queue == job.queue && lease.token.job == job.number;
    });
    const bool asked = std::ranges::find(call.claim.queues, job.queue) != call.claim.queues.end();
    if (told || (asked && !certain)) moves.push_back({&call, nullptr, told && certain});
    return;
  }
  if (call.verb == Verb::purge && call.queue == job.queue) moves.push_back({&call, nullptr, false});
  for (const Item& item : call.items) {
    if (!concerns(call, item, job)) continue;
    if (certain && !item.status.ok()) continue;
    moves.push_back({&call, &item, certain});
  }
}

}  // namespace

void Oracle::fail(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

Applied Oracle::applied(std::uint64_t call_number) const {
  const auto at = applied_.find(call_number);
  return at == applied_.end() ? Applied::no : at->second;
}

void Oracle::settle(Queues& observer, WallTime now, const Call& call, const SightPtr& begin,
                    Outer outer) {
  auto seen = look(observer, names_);
  if (!seen) {
    const Code code = seen.error().code();
    if (code != Code::unavailable && code != Code::io_error)
      return fail("the queues cannot be looked at: " + seen.error().to_string());
    put_off_.emplace_back(call, begin);
    return;
  }
  std::vector<Suspect> suspects{{&call, true}};
  for (const auto& [other, ignored] : put_off_) suspects.push_back({&other, true});
  for (const Call* other : outer) suspects.push_back({other, false});
  Sight& after = **seen;
  const SightPtr before = sight_;
  judge(after, now, suspects);
  if (violation_) return;
  judge_answers(call, *begin, *before, after);
  for (auto& [other, at_begin] : put_off_) {
    other.intruded = other.put_off = true;
    judge_answers(other, *at_begin, *before, after);
  }
  put_off_.clear();
  sight_ = *seen;
}

void Oracle::refresh(Queues& observer, WallTime now, Outer outer) {
  const Call nothing{.verb = Verb::sweep, .begun = now, .ended = now, .intruded = true};
  settle(observer, now, nothing, sight_, outer);
}

void Oracle::roll_back(SightPtr durable, const std::vector<Call>& calls) {
  sight_ = std::move(durable);
  claim_rules_.forget();
  for (const Call& call : calls) {
    applied_.erase(call.number);
    for (std::size_t i = 0; i < call.items.size(); ++i) {
      born_.erase(nonce_of(call, i));
      ids_born_.erase(nonce_of(call, i));
      for (const NewJob& child : call.items[i].children) {
        born_.erase(nonce_in(child.payload));
        ids_born_.erase(nonce_in(child.payload));
      }
    }
  }
}

void Oracle::judge(Sight& after, WallTime now, const std::vector<Suspect>& suspects) {
  placings_.clear();
  for (QueueSight& queue : after.queues) {
    judge_queue(sight_->find(queue.queue.name), queue, now, suspects);
    if (violation_) return;
  }
  for (const QueueSight& queue : sight_->queues)
    if (after.find(queue.queue.name) == nullptr)
      return fail("P2: the queue " + queue.queue.name + " is gone");
  place_anew(after);
}

void Oracle::judge_queue(const QueueSight* before, QueueSight& after, WallTime now,
                         const std::vector<Suspect>& suspects) {
  const QueueConfig& config = after.queue.config;
  const Circumstances usual{
      .now = now, .before = before ? &before->queue.config : &config, .after = &config};
  static const std::vector<Seen> kNone;
  const auto& old = before ? before->jobs : kNone;
  auto was = old.begin();
  auto is = after.jobs.begin();
  while ((was != old.end() || is != after.jobs.end()) && !violation_) {
    const bool is_new =
        was == old.end() || (is != after.jobs.end() && is->job.number < was->job.number);
    const bool is_gone =
        is == after.jobs.end() || (was != old.end() && was->job.number < is->job.number);
    if (is_new) {
      judge_new(*is, usual, suspects);
    } else {
      judge_job(&*was, is_gone ? nullptr : &*is, after, usual, suspects);
    }
    if (!is_new) ++was;
    if (!is_gone) ++is;
  }
}

void Oracle::judge_job(const Seen* before, Seen* after, const QueueSight& queue,
                       const Circumstances& usual, const std::vector<Suspect>& suspects) {
  Circumstances about = usual;
  for (const Suspect& suspect : suspects)
    add_moves(about.moves, *suspect.call, suspect.settled, applied(suspect.call->number),
              before->job);
  // A claim that goes round may have been seen from inside one of its rounds.
  std::erase_if(about.moves, [&](const Move& move) {
    return move.call->verb == Verb::claim && before->leased() &&
           before->job.worker == move.call->claim.worker;
  });
  const bool same = after != nullptr && essence(before->job) == essence(after->job);
  if (after != nullptr) after->place = before->place;
  if (same && std::ranges::none_of(about.moves, &Move::must)) return;
  const auto path = explain(before->job, after ? &after->job : nullptr, about);
  if (!path) {
    std::string calls;
    for (const Move& move : about.moves) calls += "\n  by " + move.call->to_string();
    return fail("P2: nothing explains what became of " + queue.queue.name + "/" + before->job.id +
                "\n  it was " + describe(before->job) + "\n  it is  " +
                (after ? describe(after->job) : "gone") + "\n  now is " +
                std::to_string(usual.now.time_since_epoch().count() / 1'000'000) + calls);
  }
  note_change(*before, after);
  if (after == nullptr || !path->new_place || !(after->ready() || after->leased())) return;
  std::uint64_t index = 0;
  for (const Move& move : about.moves) {
    const Verb verb = move.call->verb;
    const bool places = verb == Verb::requeue || verb == Verb::unhold || verb == Verb::edit;
    if (move.item == nullptr || !places) continue;
    index = static_cast<std::uint64_t>(move.item - move.call->items.data());
    break;  // The call that is settled comes first, before those under way.
  }
  after->place = 0;
  placings_.push_back({.item = index, .due = before->job.due.value_or(WallTime{})});
}

void Oracle::judge_new(Seen& after, const Circumstances& about,
                       const std::vector<Suspect>& suspects) {
  const std::string nonce = nonce_in(after.job.payload.value_or(""));
  if (const auto at = born_.find(nonce); at != born_.end())
    return fail("P6: " + nonce + " was enqueued twice in " + after.job.queue + ", now as " +
                after.job.id);
  const auto accept = [&](const NewJob& job, const Call& call, const Status& status, bool settled,
                          std::uint64_t index) {
    if (nonce_in(job.payload) != nonce) return false;
    const bool refused = settled && !call.doubtful() && !status.ok();
    if (refused) fail("P11: " + nonce + " is there, but was refused: " + status.to_string());
    if (!job.id.empty() && job.id != after.job.id) fail("P2: " + nonce + " has another id");
    if (job.group != after.job.group) fail("P2: " + nonce + " has another group");
    Circumstances with = about;
    for (const Suspect& suspect : suspects)
      add_moves(with.moves, *suspect.call, suspect.settled, applied(suspect.call->number),
                after.job);
    const auto path = explain_new(job, call, after.job, with);
    if (!path) fail("P2: nothing explains the new job " + nonce + ": " + describe(after.job));
    born_[nonce] = {after.job.queue, after.job.number};
    ids_born_[nonce] = after.job.id;
    ++enqueued_;
    if (after.ready() || after.leased()) placings_.push_back({.item = index});
    return true;
  };
  for (const Suspect& suspect : suspects) {
    const Call& call = *suspect.call;
    std::uint64_t index = 0;
    for (const Item& item : call.items) {
      if (call.verb == Verb::enqueue &&
          accept(item.job, call, item.status, suspect.settled, ++index))
        return;
      for (const NewJob& child : item.children)
        if (accept(child, call, item.status, suspect.settled, ++index)) {
          tally_.hit(Probe::children_enqueued);
          return;
        }
    }
  }
  fail("P6: nobody enqueues " + nonce + ", but it is there as " + after.job.id + ": " +
       describe(after.job));
}

// Jobs that came due join in the order of their due times, those of one call in its order.
void Oracle::place_anew(Sight& after) {
  std::vector<std::pair<Placing, Seen*>> anew;
  auto placing = placings_.begin();
  for (QueueSight& queue : after.queues)
    for (Seen& seen : queue.jobs)
      if (seen.place == 0 && (seen.ready() || seen.leased()) && placing != placings_.end())
        anew.emplace_back(*placing++, &seen);
  std::ranges::stable_sort(anew, [](const auto& a, const auto& b) {
    return std::tie(a.first.item, a.first.due, a.second->job.number) <
           std::tie(b.first.item, b.first.due, b.second->job.number);
  });
  // What several calls did while nobody could look stays undecided: all get the same place.
  const bool tied = !put_off_.empty();
  for (auto& [ignored, seen] : anew) seen->place = tied ? next_place_ : next_place_++;
  if (tied) ++next_place_;
}

void Oracle::note_change(const Seen& before, const Seen* after) {
  if (after == nullptr) {
    if (before.finished()) tally_.hit(Probe::retention_over);
    return;
  }
  const Job& was = before.job;
  const Job& is = after->job;
  if (was.lane == Lane::dead && is.lane == Lane::ready) tally_.hit(Probe::dead_requeued);
  if (was.lane == Lane::leased && is.lane == Lane::leased && was.claims == is.claims)
    tally_.hit(Probe::lease_extended);
  if (is.lapses > was.lapses) {
    const auto told = tokens_.find({is.queue, is.id});
    if (told == tokens_.end() || told->second < Token{is.number, was.claims})
      tally_.hit(Probe::lease_lapsed_unseen);
  }
  if (is.lane != Lane::dead || was.lane == Lane::dead) return;
  if (is.reason == DeathReason::attempts) tally_.hit(Probe::attempts_spent);
  if (is.reason == DeathReason::poison) tally_.hit(Probe::poison);
  if (is.reason == DeathReason::expired) tally_.hit(Probe::ttl_expired);
}

}  // namespace sluice::queue::sim
