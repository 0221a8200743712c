// SPDX-License-Identifier: MIT
#include "tests/queue/sim/flows/batch_race.h"

#include <sluice/queue.h>
#include <sluice/random.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "tests/queue/sim/flows/commit_order.h"
#include "tests/queue/sim/sim_clock.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kClients = 5;
constexpr std::size_t kCallsMax = 4;
constexpr unsigned kRaceRoundsMax = 12;
constexpr const char* kWork = "work";
constexpr const char* kCallbacks = "callbacks";

constexpr std::array<const char*, kRaceProbeCount> kNames = {
    "two calls overlapped",
    "one of them had to run again",
    "the batch ended in the race",
    "the batch ended by the check that the last members left",
    "all members done",
    "a member failed",
    "the batch was cancelled",
    "a member's ack added a child after the seal",
    "a member was requeued before the end",
    "a member was requeued after the end",
    "three calls inside each other",
};

class Race {
 public:
  Race(std::uint64_t seed, RaceTally& tally) : tally_(tally), random_(seed) {
    store_ = kv::open_memory({.mode = kv::MemoryOptions::Mode::optimistic,
                              .clock = &clock_,
                              .before_commit = [this] { at_commit_point(); }});
    for (std::size_t i = 0; i < kClients; ++i) {
      randoms_[i] = std::make_unique<SeededRandom>(random_.next());
      clients_[i] = *Queues::open(*store_, {.random = randoms_[i].get()});
    }
  }

  std::optional<std::string> run() {
    prepare();
    draw_calls();
    racing_ = true;
    while (next_ < calls_.size()) run_next();
    racing_ = false;
    if (store_->stats().conflicts > 0) tally_.hit(RaceProbe::conflict);
    see_to_the_end();
    if (!wrong_) judge();
    return wrong_;
  }

 private:
  using Act = std::function<void(Queues&)>;

  void fail(const std::string& what) {
    if (wrong_) return;
    wrong_ = what;
    for (const std::string& line : trace_) *wrong_ += "\n  " + line;
  }
  void expect(const Status& status, const char* what) {
    if (!status.ok()) fail(std::string(what) + ": " + status.to_string());
  }
  bool chance(double probability) { return random_.chance(probability); }

  void prepare() {
    Queues& queues = *clients_[0];
    kept_ = chance(0.6);
    QueueConfig config;
    config.done_retention = kept_ ? Duration(1h) : Duration{};
    config.shards = static_cast<std::uint32_t>(1 + random_.below(2));
    expect(queues.configure(kWork, config), "configure");
    expect(queues.configure(kCallbacks, {}), "configure");
    const bool chosen = chance(0.5);
    expect(status_of(queues.open_batch(
               {.queue = kWork,
                .id = "b",
                .on_success =
                    NewJob{.queue = kCallbacks, .id = chosen ? "s" : "", .payload = "success"},
                .on_end = NewJob{.queue = kCallbacks, .id = chosen ? "e" : "", .payload = "end"}})),
           "open_batch");
    std::vector<NewJob> jobs;
    const std::size_t count = 1 + random_.below(4);
    for (std::size_t i = 0; i < count; ++i)
      jobs.push_back({.queue = kWork, .id = "m" + std::to_string(i), .batch = "b"});
    for (const auto& id : queues.enqueue(jobs)) expect(status_of(id), "enqueue");
    auto leases = queues.claim({.queues = {kWork}, .jobs_max = count, .lease = 60s});
    if (!leases || leases->size() != count) return fail("not all members can be claimed");
    leases_ = *std::move(leases);
    finish_some_before();
    sealed_before_ = chance(0.6) && !leases_.empty();
    if (sealed_before_) expect(queues.seal_batch({kWork, "b"}), "seal_batch");
  }

  // So that few are left, mostly two.
  void finish_some_before() {
    const std::size_t left = random_.below(8) == 0 ? 0 : 1 + random_.below(3);
    while (leases_.size() > left) {
      const Lease lease = leases_.back();
      leases_.pop_back();
      if (chance(0.8))
        expect(clients_[0]->ack({.queue = kWork, .token = lease.token}), "ack");
      else
        expect(clients_[0]->fail({.queue = kWork, .token = lease.token, .dead = true}), "fail");
      finished_.push_back(lease.id);
    }
  }

  void add(std::string name, Act act) { calls_.emplace_back(std::move(name), std::move(act)); }

  void draw_calls() {
    for (const Lease& lease : leases_) add_ending(lease);
    if (chance(0.25))
      add("cancel_batch", [this](Queues& q) { answer(q.cancel_batch({kWork, "b"})); });
    if (!finished_.empty() && chance(0.4)) {
      const std::string id = finished_[random_.below(finished_.size())];
      add("requeue " + id,
          [this, id](Queues& q) { answer(q.requeue({.queue = kWork, .id = id})); });
    }
    if (chance(0.3)) add("sweep", [this](Queues& q) { answer(status_of(q.sweep())); });
    if (chance(0.15))
      add("claim", [this](Queues& q) {
        answer(status_of(q.claim({.queues = {kWork}, .jobs_max = 2, .lease = 60s})));
      });
    shuffle();
    if (!sealed_before_) {
      calls_.resize(std::min(calls_.size(), kCallsMax - 1));
      add("seal", [this](Queues& q) { answer(q.seal_batch({kWork, "b"})); });
      shuffle();
    }
    calls_.resize(std::min(calls_.size(), kCallsMax));
  }

  void add_ending(const Lease& lease) {
    const Token token = lease.token;
    const double kind = random_.unit();
    if (kind < 0.68) {
      add("ack " + lease.id,
          [this, token](Queues& q) { answer(q.ack({.queue = kWork, .token = token})); });
    } else if (kind < 0.8) {
      const NewJob child{.queue = kWork, .id = "c" + lease.id, .batch = "b"};
      add("ack with a child " + lease.id, [this, token, child](Queues& q) {
        const Status status = q.ack({.queue = kWork, .token = token, .children = {child}});
        if (status.ok() && sealed_before_) tally_.hit(RaceProbe::child_after_the_seal);
        answer(status);
      });
    } else if (kind < 0.9) {
      add("fail " + lease.id, [this, token](Queues& q) {
        answer(q.fail({.queue = kWork, .token = token, .dead = true}));
      });
    } else {
      add("cancel " + lease.id,
          [this, id = lease.id](Queues& q) { answer(q.cancel({kWork, id})); });
    }
  }

  void shuffle() {
    for (std::size_t i = calls_.size(); i > 1; --i)
      std::swap(calls_[i - 1], calls_[random_.below(i)]);
  }

  // What may be refused here is refused because another was first.
  void answer(const Status& status) {
    answers_.push_back(status);
    const Code code = status.code();
    if (code != Code::ok && code != Code::conflict && code != Code::lease_lost &&
        code != Code::not_found)
      fail("a call failed: " + status.to_string());
  }

  void at_commit_point() {
    if (!racing_ || next_ >= calls_.size() || !chance(0.75)) return;
    tally_.hit(RaceProbe::overlapped);
    if (depth_ >= 2) tally_.hit(RaceProbe::three_deep);
    run_next();
  }

  void run_next() {
    const std::size_t index = next_++;
    trace_.push_back(std::string(2 * depth_, ' ') + calls_[index].first + " begins");
    ++depth_;
    calls_[index].second(*clients_[index]);
    --depth_;
    trace_.push_back(std::string(2 * depth_, ' ') + calls_[index].first + ": " +
                     code_name(answers_.back().code()));
  }

  bool ended() {
    const auto batch = clients_[4]->get_batch({kWork, "b"});
    if (!batch) fail("the batch is gone: " + batch.error().to_string());
    return batch && batch->ended.has_value();
  }

  // The others have come to an end: now time passes, and whatever is left is worked off.
  void see_to_the_end() {
    const bool at_once = ended();
    if (at_once) tally_.hit(RaceProbe::ended_in_the_race);
    clock_.advance(1s);
    expect(status_of(clients_[4]->sweep()), "sweep");
    if (!at_once && ended()) tally_.hit(RaceProbe::ended_by_the_check);
    for (unsigned round = 0; !ended() && !wrong_; ++round) {
      if (round == kRaceRoundsMax) return fail("the batch does not end");
      work_off();
      clock_.advance(61s);
      expect(status_of(clients_[4]->sweep()), "sweep");
    }
    for (const std::string& id : finished_)
      if (kept_ && chance(0.2) && clients_[3]->requeue({.queue = kWork, .id = id}).ok())
        tally_.hit(RaceProbe::requeued_after_the_end);
    work_off();
    clock_.advance(2s);
    expect(status_of(clients_[4]->sweep()), "sweep");
  }

  void work_off() {
    for (;;) {
      const auto leases = clients_[4]->claim({.queues = {kWork}, .jobs_max = 64, .lease = 60s});
      if (!leases) return fail("claim: " + leases.error().to_string());
      if (leases->empty()) return;
      for (const Lease& lease : *leases)
        expect(clients_[4]->ack({.queue = kWork, .token = lease.token}), "ack");
    }
  }

  // Each callback once, in a commit before which all members had finished, with their counts.
  void judge() {
    const auto batch = clients_[4]->get_batch({kWork, "b"});
    const auto callbacks = clients_[4]->list({.queue = kCallbacks, .payload = true});
    const auto page = clients_[4]->events({.queue = kWork, .limit = kPageMax});
    if (!batch || !callbacks || !page) return fail("cannot be looked at");
    const Job* end = nullptr;
    std::size_t successes = 0;
    for (const Job& job : callbacks->jobs) {
      if (job.payload == "success") ++successes;
      if (job.payload != "end") continue;
      if (end != nullptr) return fail("the callback was enqueued twice");
      end = &job;
    }
    if (end == nullptr) return fail("the callback was not enqueued");
    const std::string commit = commit_of(end->number);
    std::map<std::string, Lane> members;
    for (const Event& event : page->events) {
      if (commit_of(event.cursor) > commit) {
        if (!event.from) return fail("a member was added after the end");
        continue;
      }
      if (event.from && *event.from >= Lane::done) tally_.hit(RaceProbe::requeued_before_the_end);
      members[event.id] = event.to;
    }
    const auto count = [&](Lane lane) {
      return static_cast<std::uint64_t>(
          std::ranges::count_if(members, [&](const auto& one) { return one.second == lane; }));
    };
    if (count(Lane::done) + count(Lane::dead) + count(Lane::cancelled) != members.size())
      return fail("the callback was enqueued before all members had finished");
    if (batch->total != members.size() || batch->done != count(Lane::done) ||
        batch->dead != count(Lane::dead) || batch->dropped != count(Lane::cancelled))
      return fail("the counts of the batch are not those of its members");
    const bool success = batch->done == batch->total && !batch->cancelled;
    if (successes != (success ? 1u : 0u) || batch->succeeded() != success)
      return fail(std::to_string(successes) + " callbacks for success, where " +
                  (success ? "one" : "none") + " is due");
    if (success) tally_.hit(RaceProbe::succeeded);
    if (batch->dead > 0) tally_.hit(RaceProbe::failed);
    if (batch->cancelled) tally_.hit(RaceProbe::cancelled);
  }

  RaceTally& tally_;
  SeededRandom random_;
  SimClock clock_;
  std::unique_ptr<kv::Store> store_;
  std::array<std::unique_ptr<SeededRandom>, kClients> randoms_;
  std::array<std::unique_ptr<Queues>, kClients> clients_;
  std::vector<Lease> leases_;
  std::vector<std::string> finished_;
  std::vector<std::pair<std::string, Act>> calls_;
  std::vector<Status> answers_;
  std::vector<std::string> trace_;
  std::optional<std::string> wrong_;
  std::size_t next_ = 0;
  std::size_t depth_ = 0;
  bool racing_ = false;
  bool kept_ = false;
  bool sealed_before_ = false;
};

}  // namespace

std::vector<std::string> RaceTally::missed() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kRaceProbeCount; ++i)
    if (probes[i] == 0) names.emplace_back(kNames[i]);
  return names;
}

std::optional<std::string> run_batch_race(std::uint64_t seed, RaceTally& tally) {
  ++tally.races;
  return Race(seed, tally).run();
}

}  // namespace sluice::queue::sim
