// SPDX-License-Identifier: MIT
#include "tests/queue/crash/oracle.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/queue/crash/workload.h"

namespace sluice::test {
namespace {

using queue::Lane;
using Kind = Breach::Kind;

std::string name_of(const JobKey& key) {
  return std::string(1, key.first) + " " + key.second;
}

// One item of a call, and where its notes are.
struct Item {
  JobKey key = {};
  Event event = {};
};
struct Call {
  Verb verb = Verb::enqueue;
  std::vector<Note> asked = {};
  std::vector<Item> items = {};
  bool answered = false;  // As a whole; only of interest for claims.
};
using Calls = std::map<std::pair<unsigned, std::uint64_t>, Call>;

void add_asked(Call& call, const Note& note, std::size_t place) {
  call.verb = note.verb;
  call.asked.push_back(note);
  if (note.verb == Verb::claim) return;
  call.items.push_back({.key = {note.queue, note.id},
                        .event = {.verb = note.verb,
                                  .token = note.token,
                                  .operation = note.operation,
                                  .dead = note.dead,
                                  .begin = place}});
}

void add_answer(Call& call, const Note& note, std::size_t place, std::size_t call_place) {
  if (note.verb == Verb::claim && !note.id.empty()) {
    call.items.push_back({.key = {note.queue, note.id},
                          .event = {.verb = Verb::claim,
                                    .token = note.token,
                                    .operation = note.operation,
                                    .answered = true,
                                    .begin = call_place,
                                    .end = place}});
    return;
  }
  call.answered = true;
  // An id may be in a batch twice; answers come in the order of the items.
  for (Item& item : call.items) {
    Event& event = item.event;
    if (event.answered || item.key != JobKey(note.queue, note.id) || event.token != note.token)
      continue;
    event.answered = true;
    event.code = note.code;
    event.end = place;
    return;
  }
}

Calls calls_of(const std::vector<Note>& notes, const std::vector<Note>& repeated,
               std::vector<Breach>& breaches) {
  std::set<std::string> operations;
  for (const Note& note : repeated) operations.insert(note.operation);
  Calls calls;
  std::map<std::pair<unsigned, std::uint64_t>, std::size_t> places;
  for (std::size_t place = 0; place < notes.size(); ++place) {
    const Note& note = notes[place];
    const std::pair key(note.thread, note.call);
    if (!note.answer) {
      places.emplace(key, place);
      add_asked(calls[key], note, place);
      continue;
    }
    add_answer(calls[key], note, place, places[key]);
    if (note.verb == Verb::claim && note.code != Code::ok)
      breaches.push_back({Kind::other, std::string("a claim answered ") + code_name(note.code)});
  }
  for (auto& [key, call] : calls)
    for (Item& item : call.items) item.event.repeated = operations.contains(item.event.operation);
  return calls;
}

std::map<JobKey, std::vector<Event>> events_of(const Calls& calls) {
  std::map<JobKey, std::vector<Event>> events;
  for (const auto& [at, call] : calls)
    for (const Item& item : call.items) {
      events[item.key].push_back(item.event);
      if (item.event.verb != Verb::ack) continue;
      Event child = item.event;
      child.verb = Verb::enqueue;
      child.child = true;
      for (const std::string& id : children_of(item.event.token))
        events[{item.key.first, id}].push_back(child);
    }
  for (auto& [key, of_job] : events) std::ranges::sort(of_job, {}, &Event::begin);
  return events;
}

void judge_limits(const Sight& now, std::vector<Breach>& breaches) {
  std::map<std::pair<char, std::string>, std::uint64_t> active;
  for (const auto& [key, seen] : now) {
    if (seen.lane != Lane::leased) continue;
    ++active[{seen.queue, ""}];
    if (!seen.group.empty()) ++active[{seen.queue, seen.group}];
  }
  for (const auto& [where, count] : active) {
    const auto limit = where.second.empty() ? config_of(where.first).active_max
                                            : limit_of(where.first, where.second);
    if (limit && count > *limit)
      breaches.push_back({Kind::other, std::string(1, where.first) + " " + where.second + " has " +
                                           std::to_string(count) + " active jobs"});
  }
}

// A key has one holder, which is not finished; and a job waits for one that is not finished, and
// runs only after it.
void judge_flows(const Sight& now, const std::map<JobKey, JobTruth>& truths,
                 std::vector<Breach>& breaches) {
  std::map<std::pair<char, std::string>, std::uint64_t> holders;
  const auto was_revived = [&](const JobKey& key) { return truths.at(key).revivals > 0; };
  for (const auto& [key, seen] : now) {
    if (is_finished(seen.lane)) continue;
    const queue::NewJob job = job_of(key.first, key.second);
    if (job.unique && ++holders[{key.first, job.unique->key}] == 2)
      breaches.push_back({Kind::doubled, name_of(key) + ": another job has its unique key"});
    const auto before = link_before(key.second);
    if (!before) continue;
    const auto found = now.find({key.first, *before});
    const bool unfinished = found != now.end() && !is_finished(found->second.lane);
    if (seen.lane == Lane::waiting && !unfinished)
      breaches.push_back({Kind::lost, name_of(key) + ": it waits for a job that has ended"});
    const bool runs = seen.lane == Lane::ready || seen.lane == Lane::leased;
    if (runs && unfinished && !was_revived(key) && !was_revived(found->first))
      breaches.push_back({Kind::other, name_of(key) + ": it runs before the job it waits for"});
  }
}

// A call that was in flight is one transaction: all of it happened or nothing.
void judge_unanswered(const Call& call, const std::map<JobKey, JobTruth>& truths,
                      std::vector<Breach>& breaches) {
  const auto exists = [&](const JobKey& key) {
    const auto truth = truths.find(key);
    return truth != truths.end() && truth->second.existed();
  };
  std::vector<JobKey> enqueued;
  for (const Item& item : call.items) {
    if (call.verb == Verb::enqueue) enqueued.push_back(item.key);
    if (call.verb != Verb::ack || item.event.answered) continue;
    std::vector<JobKey> children;
    for (const std::string& id : children_of(item.event.token))
      children.emplace_back(item.key.first, id);
    const auto count = std::ranges::count_if(children, exists);
    const std::optional<Seen>& parent = truths.at(item.key).last;
    const bool done = parent && parent->lane == Lane::done && parent->result == item.event.token;
    const bool surely_not = parent && !keeps_done(item.key.first);
    if ((count != 0 || done) && (count != std::ssize(children) || surely_not))
      breaches.push_back(
          {Kind::lost, name_of(item.key) + ": its ack and its children do not go together"});
  }
  const auto count = std::ranges::count_if(enqueued, exists);
  if (count != 0 && count != std::ssize(enqueued))
    breaches.push_back({Kind::lost, name_of(enqueued[0]) + ": half of its batch is there"});
}

}  // namespace

std::vector<Breach> Oracle::judge(const std::vector<Note>& notes, const Sight& now) {
  std::vector<Breach> breaches;
  const Calls calls = calls_of(notes, pending_, breaches);
  std::map<JobKey, std::vector<Event>> events = events_of(calls);
  // Jobs that nobody mentioned must be as they were, and nothing may be there that is unknown.
  for (const auto& [key, seen] : now) events[key];
  for (const auto& [key, truth] : truths_)
    if (!truth.gone) events[key];
  for (const auto& [key, of_job] : events) {
    JobTruth& truth = truths_[key];
    const std::size_t accepted_before = truth.accepted.size();
    const auto found = now.find(key);
    const std::vector<Breach> wrong = judge_job(
        key, truth, of_job, found != now.end() ? std::optional(found->second) : std::nullopt);
    breaches.insert(breaches.end(), wrong.begin(), wrong.end());
    completions_ += truth.accepted.size() - accepted_before;
    const bool acked = truth.acked || std::ranges::any_of(of_job, [](const Event& event) {
                         return event.verb == Verb::enqueue && event.ok();
                       });
    jobs_acked_ += acked && !truth.acked ? 1 : 0;
    truth.acked = acked;
  }
  pending_.clear();
  for (const auto& [at, call] : calls) {
    const bool answered =
        call.verb == Verb::claim
            ? call.answered
            : std::ranges::all_of(call.items, [](const Item& item) { return item.event.answered; });
    if (answered) continue;
    judge_unanswered(call, truths_, breaches);
    if (!call.asked[0].operation.empty())
      pending_.insert(pending_.end(), call.asked.begin(), call.asked.end());
  }
  judge_limits(now, breaches);
  judge_flows(now, truths_, breaches);
  return breaches;
}

std::vector<Breach> Oracle::judge_drain(const std::vector<JobKey>& claimed,
                                        const Sight& now) const {
  std::vector<Breach> breaches;
  std::map<JobKey, std::uint64_t> times;
  for (const JobKey& key : claimed) ++times[key];
  for (const auto& [key, seen] : now)
    if (!truths_.contains(key) || !truths_.at(key).last)
      breaches.push_back({Kind::doubled, name_of(key) + ": the drain found a job too many"});
  for (const auto& [key, truth] : truths_) {
    const std::uint64_t drained = times[key];
    if (!truth.last) {
      if (drained != 0) breaches.push_back({Kind::doubled, name_of(key) + ": drained again"});
      continue;
    }
    const auto found = now.find(key);
    if (found == now.end()) {
      breaches.push_back({Kind::lost, name_of(key) + ": lost in the drain"});
      continue;
    }
    const Lane before = truth.last->lane;
    const bool was_finished = is_finished(before);
    const bool died =
        found->second.lane == Lane::dead && found->second.reason != queue::DeathReason::refused;
    const bool done = found->second.lane == Lane::done && found->second.result == kDrained;
    if (was_finished && (found->second != *truth.last || drained != 0))
      breaches.push_back({Kind::doubled, name_of(key) + ": it was finished before the drain"});
    if (!was_finished && !(done && drained == 1) && !(died && drained == 0))
      breaches.push_back({drained > 1 ? Kind::doubled : Kind::lost,
                          name_of(key) + ": drained " + std::to_string(drained) + " times, now " +
                              lane_name(found->second.lane)});
  }
  return breaches;
}

void Oracle::forget() {
  truths_.clear();
  pending_.clear();
}

}  // namespace sluice::test
