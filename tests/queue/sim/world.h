// SPDX-License-Identifier: MIT
// One simulated run: several processes on one store, the people who use them, and everything that
// goes wrong, on one thread and all drawn from one seed.
#pragma once

#include <sluice/queue.h>
#include <sluice/random.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kv/fault_store.h"
#include "tests/queue/sim/actor.h"
#include "tests/queue/sim/oracle.h"
#include "tests/queue/sim/sim_clock.h"
#include "tests/queue/sim/tally.h"
#include "tests/queue/sim/trace.h"

namespace sluice::queue::sim {

class World {
 public:
  World(std::uint64_t seed, Tally& tally);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Lives through `steps` steps of trouble, then heals and drains. Ends early at a violation.
  void run(unsigned steps);

  const std::optional<std::string>& violation() const { return oracle_->violation(); }
  const Trace& trace() const { return trace_; }

  // For actors.

  Random& random() { return random_; }
  WallTime now() const { return store_->now(); }
  const Sight& sight() const { return *oracle_->sight(); }
  const std::vector<std::string>& queue_names() const { return names_; }
  const std::vector<std::string>& group_names() const { return groups_; }
  Tally& tally() { return tally_; }
  /// How often the process has been started.
  std::uint64_t lives(std::size_t process) const { return processes_[process].lives; }
  Call new_call(Verb verb, std::size_t process, bool with_operation);
  /// Makes the call in its process and has it judged.
  void perform(Call& call);
  /// The same in a transaction of the caller's that is submitted. If its sync is held back, the
  /// call comes back as commit_unknown and is acknowledged, or lost, later.
  void submit(Call& call);
  bool may_submit() const { return hold_syncs_ && frames_.empty() && !store_->down(); }
  QueueConfig draw_config();
  Duration draw_lease();

 private:
  struct Process {
    std::unique_ptr<SeededRandom> random;
    std::unique_ptr<Queues> queues;
    std::uint64_t lives = 0;
    bool busy = false;
  };
  struct Pending {
    Call call;
    bool done = false;
    Status commit = {};
  };

  void draw_faults();
  void set_up();
  void make_actors();
  bool start(Process& process);
  void restart(std::size_t index);
  void step();
  void act(bool nested);
  void intrude();
  void pass_time();
  void switch_full();
  void recover();
  void collect_pending();
  void notice(const Call& call, std::uint64_t conflicts_before);
  void notice_operation(const Call& call);
  void check_store();
  std::vector<const Call*> outer() const;

  // drain.cc
  void drain();
  void heal_queue(const QueueSight& queue);
  bool drain_round();
  void check_nothing_left_out();
  void check_end();
  std::string reasons();
  std::optional<WallTime> next_event() const;
  void perform_until_done(Call call);

  Tally& tally_;
  Trace trace_;
  SeededRandom random_;
  SeededRandom fault_random_;
  SimClock clock_;
  std::unique_ptr<kv::FaultStore> store_;
  std::vector<std::string> names_;
  std::vector<std::string> groups_ = {"g0", "g1", "g2"};
  std::optional<Oracle> oracle_;
  std::vector<Process> processes_;  // The last one only looks.
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<Call*> frames_;
  std::vector<std::unique_ptr<Pending>> pending_;
  SightPtr durable_;
  std::array<double, kv::kFaultCount> chances_{};
  double intrusion_ = 0;
  double wall_steps_ = 0;
  bool hold_syncs_ = false;
  bool full_ = false;
  bool full_refused_ = false;
  bool healed_ = false;
  std::uint64_t next_call_ = 1;
  std::uint64_t steps_ = 0;
};

}  // namespace sluice::queue::sim
