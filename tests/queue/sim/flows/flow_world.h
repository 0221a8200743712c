// SPDX-License-Identifier: MIT
// One simulated run of flows: unique keys, dependencies, batches, schedules and events, used by
// several processes on one store that fails, on one thread and all drawn from one seed.
#pragma once

#include <sluice/queue.h>
#include <sluice/random.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kv/fault_store.h"
#include "tests/queue/sim/flows/flow_tally.h"
#include "tests/queue/sim/flows/ledger.h"
#include "tests/queue/sim/sim_clock.h"
#include "tests/queue/sim/trace.h"

namespace sluice::queue::sim {

/// A call as a value, so that it can be made again just as it was.
struct FlowCall {
  std::string text = {};
  std::size_t process = 0;
  bool with_operation = false;
  bool repeatable = true;  ///< Also without an operation id: it cannot happen twice.
  bool steady = true;      ///< Under its operation id it always answers the same.
  /// Makes the call; the answer in words goes to `answer`.
  std::function<Status(Queues&, FlowCall&)> run = {};
  /// Looks at a definite answer.
  std::function<void(const FlowCall&)> judge = {};

  std::uint64_t number = 0;
  std::string operation = {};
  std::string answer = {};
  Status status = {};
  WallTime begun = {};           ///< Of the first try, as the next.
  std::uint64_t begun_tick = 0;  ///< What had been committed then.
  unsigned tries = 0;
  bool intruded = false;
  std::optional<std::string> answered = {};  ///< The first definite answer under its operation id.
  bool applied = false;                      ///< A try that was in doubt is known to have happened.

  bool doubtful() const;
  CallOptions options() const { return {.operation = operation}; }
};

class FlowWorld;

/// One of those who use the queues. Makes one call per step.
class FlowActor {
 public:
  FlowActor(FlowWorld& world, std::size_t process) : world_(world), process_(process) {}
  virtual ~FlowActor() = default;
  FlowActor(const FlowActor&) = delete;
  FlowActor& operator=(const FlowActor&) = delete;

  std::size_t process() const { return process_; }
  virtual void step() = 0;
  /// Its process has died.
  virtual void forget() {}

 protected:
  bool chance(double probability);
  std::size_t below(std::size_t bound);
  const std::string& draw_queue();

  FlowWorld& world_;
  const std::size_t process_;
};

class FlowWorld {
 public:
  FlowWorld(std::uint64_t seed, FlowTally& tally);
  ~FlowWorld();
  FlowWorld(const FlowWorld&) = delete;
  FlowWorld& operator=(const FlowWorld&) = delete;

  /// Lives through `steps` steps of trouble, then heals and drains. Ends early at a violation.
  void run(unsigned steps);

  const std::optional<std::string>& violation() const { return ledger_->violation(); }
  const Trace& trace() const { return trace_; }

  // For actors.

  Random& random() { return random_; }
  WallTime now() const { return store_->now(); }
  Ledger& ledger() { return *ledger_; }
  FlowTally& tally() { return tally_; }
  const std::vector<std::string>& names() const { return names_; }
  bool crowded() const;
  /// A payload that no other job has.
  std::string nonce() { return "n" + std::to_string(next_nonce_++); }
  /// Something will happen at this time: the clock may well stop there.
  void hint(WallTime time) { hints_.push_back(time); }
  void make(FlowCall call);
  /// The process that only looks.
  Queues& observer() { return *processes_.back().queues; }
  bool paused(const std::string& queue);
  /// Enqueues them in one call, whose answer is judged.
  void enqueue(std::size_t process, std::vector<NewJob> jobs, const std::string& text);
  /// Judges a refusal of `job`, enqueued alone or as the child of an ack.
  bool refusal_is_due(const FlowCall& call, const NewJob& job, Code code);

 private:
  struct Process {
    std::unique_ptr<SeededRandom> random;
    std::unique_ptr<Queues> queues;
    bool busy = false;
  };

  void draw_faults();
  void make_actors();
  bool start(Process& process);
  void restart(std::size_t index);
  void step();
  void act();
  void perform(FlowCall& call);
  void settle(FlowCall& call);
  void at_commit_point();
  void pass_time();
  void recover();
  void check_store();
  bool repeat_one();
  void judge_enqueued(const FlowCall& call, const NewJob& job, const Result<std::string>& id);
  bool key_was_held(const FlowCall& call, const NewJob& job);

  // flow_drain.cc
  void drain();
  void heal();
  void drain_all();
  bool work_off();
  void settle_failed();
  void check_waiting();
  void check_end();
  void must(FlowCall call);

  FlowTally& tally_;
  Trace trace_;
  SeededRandom random_;
  SeededRandom fault_random_;
  SimClock clock_;
  std::unique_ptr<kv::FaultStore> store_;
  std::vector<std::string> names_;
  std::optional<Ledger> ledger_;
  std::vector<Process> processes_;
  std::vector<std::unique_ptr<FlowActor>> actors_;
  std::vector<FlowCall*> frames_;
  std::vector<FlowCall> unsure_;
  std::vector<FlowCall> put_off_;  // Answered while the store was down for those who look.
  std::vector<WallTime> hints_;
  double intrusion_ = 0;
  double wall_steps_ = 0;
  bool looking_ = false;
  std::uint64_t next_call_ = 1;
  std::uint64_t next_nonce_ = 1;
  std::uint64_t steps_ = 0;
};

std::unique_ptr<FlowActor> make_key_producer(FlowWorld& world, std::size_t process);
std::unique_ptr<FlowActor> make_graph_producer(FlowWorld& world, std::size_t process);
std::unique_ptr<FlowActor> make_batcher(FlowWorld& world, std::size_t process);
std::unique_ptr<FlowActor> make_scheduler(FlowWorld& world, std::size_t process);
std::unique_ptr<FlowActor> make_flow_worker(FlowWorld& world, std::size_t process);
std::unique_ptr<FlowActor> make_flow_operator(FlowWorld& world, std::size_t process);
std::unique_ptr<FlowActor> make_follower(FlowWorld& world, std::size_t process);

}  // namespace sluice::queue::sim
