// SPDX-License-Identifier: MIT
// Reading and writing down. What must hold is in ledger_rules.cc and ledger_batches.cc.
#include "tests/queue/sim/flows/ledger.h"

#include <algorithm>
#include <tuple>

#include "tests/queue/sim/flows/commit_order.h"

namespace sluice::queue::sim {
namespace {

std::string name_of(const std::string& queue, const std::string& id) {
  return queue + "/" + id;
}

}  // namespace

std::string callback_payload(const std::string& queue, const std::string& batch, bool success) {
  return "callback " + std::string(success ? "success " : "end ") + name_of(queue, batch);
}

bool is_there(Queues& queues, const Life& life) {
  const auto job = queues.get({life.queue, life.id}, {});
  return job ? job->number == life.number : job.error().code() != Code::not_found;
}

bool Life::wants_key_in(Lane where) const {
  if (asked == nullptr || !asked->unique) return false;
  return std::ranges::find(asked->unique->lanes, where) != asked->unique->lanes.end();
}

void Ledger::expect(const NewJob& job) {
  asked_.emplace(job.payload, job);
}

BatchLife& Ledger::expect_batch(const NewBatch& batch) {
  if (BatchLife* known = find_batch(batch.queue, batch.id)) return *known;
  if (batch.on_success) expect(*batch.on_success);
  if (batch.on_end) expect(*batch.on_end);
  ++tally_.batches;
  batches_.push_back({.queue = batch.queue, .id = batch.id, .asked = batch});
  return batches_.back();
}

void Ledger::expect_schedule(const std::string& queue, const std::string& name) {
  schedules_.try_emplace({queue, name}, ScheduleLife{.queue = queue, .name = name});
}

void Ledger::expect_cancel(const std::string& queue, const std::string& id) {
  cancels_.insert({queue, id});
}

void Ledger::expect_more_after(const std::string& queue, const std::string& id) {
  more_after_.insert({queue, id});
}

std::optional<std::size_t> Ledger::position(std::size_t queue, const std::string& cursor) const {
  const auto at = streams_[queue].positions.find(cursor);
  if (at == streams_[queue].positions.end()) return std::nullopt;
  return at->second;
}

const Life* Ledger::find(const std::string& queue, const std::string& id) const {
  const auto at = by_id_.find({queue, id});
  return at == by_id_.end() ? nullptr : at->second;
}

const Life* Ledger::find_payload(const std::string& payload) const {
  const auto at = by_payload_.find(payload);
  return at == by_payload_.end() ? nullptr : at->second;
}

BatchLife* Ledger::find_batch(const std::string& queue, const std::string& id) {
  const auto at = std::ranges::find_if(
      batches_, [&](const BatchLife& one) { return one.queue == queue && one.id == id; });
  return at == batches_.end() ? nullptr : &*at;
}

bool Ledger::look(Queues& observer, WallTime now) {
  std::vector<Fresh> fresh;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (!read_stream(observer, i, fresh)) return false;
  const auto order = [](const Fresh& one) {
    return std::tuple(commit_of(one.event.cursor), !one.event.from, one.queue);
  };
  std::ranges::stable_sort(fresh, {}, order);
  for (std::size_t first = 0; first < fresh.size() && !violation_;) {
    const std::string commit = commit_of(fresh[first].event.cursor);
    std::vector<const Fresh*> moves;
    while (first < fresh.size() && commit_of(fresh[first].event.cursor) == commit)
      moves.push_back(&fresh[first++]);
    take_commit(observer, moves);
  }
  if (!violation_) look_at_waits(observer);
  if (!violation_) look_at_batches(observer, now);
  if (!violation_) look_at_schedules(observer);
  return true;
}

bool Ledger::read_stream(Queues& observer, std::size_t queue, std::vector<Fresh>& fresh) {
  Stream& stream = streams_[queue];
  for (;;) {
    const auto page =
        observer.events({.queue = names_[queue], .after = stream.cursor, .limit = kPageMax});
    if (!page) {
      const Code code = page.error().code();
      if (code == Code::not_found) return true;
      if (code != Code::unavailable && code != Code::io_error)
        fail("the events cannot be read: " + page.error().to_string());
      return false;
    }
    if (page->gap) fail("events: a gap although everything was read at once in " + names_[queue]);
    for (const Event& event : page->events) {
      if (!stream.positions.emplace(event.cursor, stream.events.size()).second)
        fail("events: a cursor comes twice: " + event.cursor);
      stream.events.push_back(event);
      fresh.push_back({queue, event});
    }
    stream.cursor = page->next;
    if (page->events.size() < kPageMax) return true;
  }
}

// First the moves, then the new jobs, which may take what the moves have given back; then what must
// hold after all of them.
void Ledger::take_commit(Queues& observer, const std::vector<const Fresh*>& commit) {
  ++tick_;
  std::vector<std::pair<Life*, Lane>> moved;
  std::vector<Life*> born;
  for (const Fresh* fresh : commit) {
    ++tally_.moves;
    Life* life = fresh->event.from ? take_move(*fresh) : take_birth(observer, *fresh);
    if (violation_) return;
    if (fresh->event.from)
      moved.emplace_back(life, *fresh->event.from);
    else
      born.push_back(life);
  }
  for (Life* life : born) {
    tie(*life);
    judge_key(observer, *life);
    judge_going_on(*life);
    if (life->asked != nullptr && life->asked->payload.starts_with("callback"))
      judge_callback(*life);
  }
  for (const auto& [life, from] : moved) {
    judge_going_on(*life);
    judge_ending(observer, *life, from, born);
  }
  for (Life* life : born)
    if (life->finished()) take_finish(*life);
  for (const auto& [life, from] : moved)
    if (life->finished()) life->waits.clear();
}

Life* Ledger::take_move(const Fresh& fresh) {
  const Event& event = fresh.event;
  const auto at = by_id_.find({names_[fresh.queue], event.id});
  if (at == by_id_.end()) {
    fail("events: a move of a job that was never enqueued: " +
         name_of(names_[fresh.queue], event.id));
    return nullptr;
  }
  Life& life = *at->second;
  if (life.lane != *event.from)
    fail("events: " + name_of(life.queue, life.id) + " left " + lane_name(*event.from) +
         ", but was " + lane_name(life.lane));
  const bool was_finished = life.finished();
  life.lane = event.to;
  life.path.emplace_back(tick_, event.to);
  if (!life.wants_key_in(event.to)) life.firm = false;
  if (!was_finished && life.finished()) {
    --unfinished_;
    take_finish(life);
  }
  if (was_finished && !life.finished()) {
    ++unfinished_;
    if (!life.dependants.empty()) tally_.hit(FlowProbe::waited_for_requeued);
    BatchLife* batch = life.asked ? find_batch(life.queue, life.asked->batch) : nullptr;
    if (batch != nullptr && !life.left_batch) {
      life.left_batch = batch->last && batch->last->ended;
      tally_.hit(life.left_batch ? FlowProbe::batch_member_requeued_late
                                 : FlowProbe::batch_member_requeued);
    }
  }
  if (event.to == Lane::leased && life.asked != nullptr && !life.left_batch) {
    const BatchLife* batch = find_batch(life.queue, life.asked->batch);
    if (batch != nullptr && batch->last && batch->last->cancelled && !batch->last->ended)
      fail("batch: " + name_of(life.queue, life.id) +
           " was handed out although its batch is cancelled");
  }
  return &life;
}

Life* Ledger::take_birth(Queues& observer, const Fresh& fresh) {
  const Event& event = fresh.event;
  const std::string& queue = names_[fresh.queue];
  const auto job = observer.get({queue, event.id}, {.payload = true});
  if (!job) {
    fail("a new job cannot be looked at: " + name_of(queue, event.id) + " " +
         job.error().to_string());
    return nullptr;
  }
  lives_.push_back({.queue = queue, .id = event.id, .lane = event.to, .born = event.at});
  Life& life = lives_.back();
  life.number = job->number;
  life.path.emplace_back(tick_, event.to);
  ++unfinished_;
  ++tally_.jobs;
  by_id_[{queue, event.id}] = &life;
  if (!job->schedule.empty()) {
    judge_fired(life, *job);
    return &life;
  }
  const auto asked = asked_.find(*job->payload);
  if (asked == asked_.end()) {
    fail("nobody enqueues " + *job->payload);
    return nullptr;
  }
  life.asked = &asked->second;
  if (!life.asked->id.empty() && life.asked->id != life.id) fail("another id: " + *job->payload);
  if (!by_payload_.emplace(*job->payload, &life).second)
    fail("enqueued twice: " + *job->payload + ", now as " + name_of(queue, life.id));
  if (!life.asked->batch.empty()) {
    BatchLife* batch = find_batch(queue, life.asked->batch);
    if (batch == nullptr) fail("a member of a batch that was never opened: " + *job->payload);
    if (batch != nullptr) batch->members.push_back(&life);
  }
  return &life;
}

void Ledger::take_finish(Life& life) {
  life.was_done = life.was_done || life.lane == Lane::done;
  life.was_failed = life.was_failed || life.lane != Lane::done;
  for (Life* dependant : life.dependants)
    for (Life::Wait& wait : dependant->waits)
      if (wait.parent == &life && (life.lane == Lane::done || wait.policy == AfterPolicy::end))
        wait.settled = true;
}

void Ledger::compare(Queues& observer) {
  std::map<std::pair<std::string, std::string>, std::string> told;
  std::set<const Life*> there;
  for (const std::string& name : names_) {
    ListRequest request{.queue = name, .limit = kPageMax};
    do {
      const auto page = observer.list(request);
      if (!page) return;
      for (const Job& job : page->jobs) {
        const Life* life = find(name, job.id);
        if (life == nullptr || life->lane != job.lane)
          return fail("events: they do not tell that " + name_of(name, job.id) + " is " +
                      lane_name(job.lane));
        there.insert(life);
        if (!job.unique.empty() && !told.emplace(std::pair(name, job.unique), job.id).second)
          return fail("unique: two jobs hold the key " + job.unique + ": " + job.id + " and " +
                      told[std::pair(name, job.unique)]);
        const bool holds = !job.unique.empty();
        if (life->firm && !life->lost_key && !holds)
          return fail("unique: " + name_of(name, job.id) + " has lost its key");
        if (holds && !life->wants_key_in(job.lane) && life->asked != nullptr)
          return fail("unique: " + name_of(name, job.id) + " still holds its key");
        if (!holds && life->wants_key_in(job.lane) && !life->firm && !life->lost_key)
          tally_.hit(FlowProbe::unique_back_without_key);
      }
      request.after = page->next;
    } while (!request.after.empty());
  }
  for (Life& life : lives_) {
    if (there.contains(&life)) continue;
    if (life.gone == 0) life.gone = tick_;
    if (!life.finished())
      return fail("events: they do not tell that " + name_of(life.queue, life.id) + " is gone");
  }
  compare_waits(observer);
}

}  // namespace sluice::queue::sim
