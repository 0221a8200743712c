// SPDX-License-Identifier: MIT
// Those who use batches, and those who use schedules.
#include <algorithm>
#include <array>
#include <map>

#include "tests/queue/sim/flows/flow_world.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kOpenMax = 3;

class Batcher final : public FlowActor {
 public:
  using FlowActor::FlowActor;

  void step() override {
    BatchLife* batch = draw_batch();
    const double kind = world_.random().unit();
    if (batch == nullptr || kind < 0.2) return open();
    if (kind < 0.7) return add(*batch);
    if (kind < 0.93) return seal(*batch);
    cancel(*batch);
  }

 private:
  std::vector<BatchLife*> unended() {
    std::vector<BatchLife*> found;
    for (BatchLife& batch : world_.ledger().batches())
      if (!batch.last || !batch.last->ended) found.push_back(&batch);
    return found;
  }

  BatchLife* draw_batch() {
    auto& all = world_.ledger().batches();
    if (!all.empty() && chance(0.1)) return &all[below(all.size())];
    const auto found = unended();
    return found.empty() ? nullptr : found[below(found.size())];
  }

  NewJob callback(const std::string& queue, const std::string& batch, bool success) {
    NewJob job{.queue = draw_queue(), .payload = callback_payload(queue, batch, success)};
    const double kind = world_.random().unit();
    if (kind < 0.4) job.id = "cb-" + std::string(success ? "s-" : "e-") + batch;
    if (kind > 0.9 && !world_.ledger().lives().empty()) {
      const Life& taken = world_.ledger().lives().back();
      job.queue = taken.queue;
      job.id = taken.id;
    }
    return job;
  }

  void open() {
    if (unended().size() >= kOpenMax) return;
    NewBatch batch{.queue = draw_queue(), .id = "b" + world_.nonce()};
    if (chance(0.8)) batch.on_success = callback(batch.queue, batch.id, true);
    if (chance(0.8)) batch.on_end = callback(batch.queue, batch.id, false);
    world_.ledger().expect_batch(batch);
    world_.make({.text = "open_batch " + batch.queue + "/" + batch.id,
                 .process = process_,
                 .with_operation = chance(0.6),
                 .run =
                     [batch](Queues& queues, FlowCall& call) {
                       const auto id = queues.open_batch(batch, call.options());
                       call.answer = id ? *id : "";
                       return status_of(id);
                     },
                 .judge =
                     [this, batch](const FlowCall& call) {
                       const BatchLife* life = world_.ledger().find_batch(batch.queue, batch.id);
                       const bool again = call.tries > 1 && call.operation.empty();
                       if (!life->last || (!call.status.ok() && !again))
                         world_.ledger().fail("batch: " + batch.id +
                                              " could not be opened: " + call.status.to_string());
                     }});
  }

  void add(const BatchLife& batch) {
    if (world_.crowded()) return;
    std::vector<NewJob> jobs;
    for (std::size_t i = 0; i < 1 + below(4); ++i) {
      NewJob job{.queue = batch.queue, .payload = world_.nonce(), .batch = batch.id};
      if (chance(0.6)) job.id = "m-" + job.payload;
      job.hold = chance(0.05);
      if (chance(0.1)) job.delay = 1s;
      if (!jobs.empty() && !jobs.back().id.empty() && chance(0.2))
        job.after = {{.id = jobs.back().id, .policy = AfterPolicy::cancel}};
      jobs.push_back(job);
    }
    world_.enqueue(process_, std::move(jobs), "members");
  }

  void seal(BatchLife& batch) {
    if (batch.members.empty() && !chance(0.2)) return;
    batch.seal_asked = true;
    const BatchRef ref{batch.queue, batch.id};
    world_.make({.text = "seal_batch " + ref.id,
                 .process = process_,
                 .with_operation = chance(0.5),
                 .run = [ref](Queues& queues,
                              FlowCall& call) { return queues.seal_batch(ref, call.options()); },
                 .judge = [this, ref](const FlowCall& call) { judge_closed(call, ref); }});
    // The check that its last members leave is for the next full second.
    world_.hint(std::chrono::ceil<std::chrono::seconds>(world_.now()));
  }

  void cancel(BatchLife& batch) {
    batch.cancel_asked = true;
    const BatchRef ref{batch.queue, batch.id};
    world_.make({.text = "cancel_batch " + ref.id,
                 .process = process_,
                 .with_operation = chance(0.5),
                 .run = [ref](Queues& queues,
                              FlowCall& call) { return queues.cancel_batch(ref, call.options()); },
                 .judge = [this, ref](const FlowCall& call) { judge_closed(call, ref); }});
  }

  void judge_closed(const FlowCall& call, const BatchRef& ref) {
    const BatchLife* batch = world_.ledger().find_batch(ref.queue, ref.id);
    const Code code = call.status.code();
    if (code == Code::ok && !Ledger::closed(*batch))
      world_.ledger().fail("batch: " + ref.id + " was sealed, and is not");
    const bool gone = !batch->last || batch->last->ended;
    if (code == Code::not_found ? !gone : code == Code::conflict ? !gone : code != Code::ok)
      world_.ledger().fail("batch: " + ref.id +
                           " refused without a reason: " + call.status.to_string());
  }
};

class Scheduler final : public FlowActor {
 public:
  using FlowActor::FlowActor;

  void step() override {
    const std::string queue = draw_queue();
    const std::string name = "cron" + std::to_string(below(2));
    const auto at = world_.ledger().schedules().find({queue, name});
    const bool there = at != world_.ledger().schedules().end() && at->second.last;
    if (there && at->second.last->next) world_.hint(*at->second.last->next);
    const double kind = world_.random().unit();
    if (!there || kind < 0.1) return put(queue, name);
    if (at->second.last->paused ? kind < 0.7 : kind < 0.35) return pause(at->second);
    if (kind < 0.75) return run(queue, name);
    if (kind < 0.8) return remove(queue, name);
    sweep();
  }

 private:
  using Verb = Status (Queues::*)(std::string_view, std::string_view);

  void call(const std::string& text, Verb verb, const std::string& queue, const std::string& name) {
    world_.make({.text = text + " " + queue + "/" + name,
                 .process = process_,
                 .run = [verb, queue, name](Queues& queues, FlowCall&) {
                   return (queues.*verb)(queue, name);
                 }});
  }

  void put(const std::string& queue, const std::string& name) {
    constexpr std::array kCrons = {"* * * * *", "*/5 * * * *", "*/20 * * * *", "@hourly"};
    NewSchedule schedule{.queue = queue, .name = name, .cron = kCrons[below(4)]};
    schedule.job.payload = "scheduled";
    if (chance(0.4)) schedule.job.unique = Unique{.key = "key of " + name};
    world_.ledger().expect_schedule(queue, name);
    world_.make(
        {.text = "put_schedule " + queue + "/" + name + " " + schedule.cron,
         .process = process_,
         .run = [schedule](Queues& queues, FlowCall&) { return queues.put_schedule(schedule); }});
  }

  void pause(const ScheduleLife& life) {
    const bool paused = life.last->paused;
    auto& since = paused_since_[{life.queue, life.name}];
    const Duration period = period_of(life.last->cron);
    if (!paused) since = world_.now();
    if (paused && world_.now() - since > period)
      world_.tally().hit(FlowProbe::schedule_paused_past_a_time);
    call(paused ? "resume_schedule" : "pause_schedule",
         paused ? &Queues::resume_schedule : &Queues::pause_schedule, life.queue, life.name);
  }

  // Never at a full minute: what it enqueues is then told from what is planned.
  void run(const std::string& queue, const std::string& name) {
    const Duration into = world_.now().time_since_epoch() % Duration(1min);
    if (world_.crowded() || into < 1s || into > 58s) return;
    world_.make({.text = "run_schedule " + queue + "/" + name,
                 .process = process_,
                 .repeatable = false,
                 .run = [queue, name](Queues& queues, FlowCall& made) {
                   const auto id = queues.run_schedule(queue, name);
                   made.answer = id ? *id : "";
                   return status_of(id);
                 }});
  }

  void remove(const std::string& queue, const std::string& name) {
    call("remove_schedule", &Queues::remove_schedule, queue, name);
  }

  // After a whole sweep nothing that was planned before it is left.
  void sweep() {
    const std::uint64_t fired = world_.tally().fired;
    world_.make({.text = "sweep",
                 .process = process_,
                 .run = [](Queues& queues, FlowCall&) { return status_of(queues.sweep()); },
                 .judge =
                     [this, fired](const FlowCall& call) {
                       if (!call.status.ok() || call.intruded || call.tries > 1) return;
                       const auto& names = world_.names();
                       const bool paused = std::ranges::all_of(
                           names, [&](const std::string& name) { return world_.paused(name); });
                       if (paused && world_.tally().fired > fired)
                         world_.tally().hit(FlowProbe::schedule_fired_while_paused);
                       for (const auto& [key, life] : world_.ledger().schedules())
                         if (life.last && life.last->next && *life.last->next <= call.begun)
                           world_.ledger().fail("schedule: a sweep did not fire " + life.name);
                     }});
  }

  std::map<std::pair<std::string, std::string>, WallTime> paused_since_;
};

}  // namespace

std::unique_ptr<FlowActor> make_batcher(FlowWorld& world, std::size_t process) {
  return std::make_unique<Batcher>(world, process);
}

std::unique_ptr<FlowActor> make_scheduler(FlowWorld& world, std::size_t process) {
  return std::make_unique<Scheduler>(world, process);
}

}  // namespace sluice::queue::sim
