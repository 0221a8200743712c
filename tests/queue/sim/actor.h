// SPDX-License-Identifier: MIT
// Those who use the queues. Each belongs to a process, and makes one call per step.
#pragma once

#include <sluice/queue.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/queue/sim/call.h"

namespace sluice::queue::sim {

class World;

class Actor {
 public:
  Actor(World& world, std::size_t process) : world_(world), process_(process) {}
  virtual ~Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  std::size_t process() const { return process_; }
  /// Repeats a call that is in doubt, or makes a new one.
  void act();
  /// Its process has died. An operation in doubt may have been written down elsewhere.
  void die();

 protected:
  virtual void step() = 0;
  /// Looks at what a call has answered.
  virtual void learn(const Call&) {}
  virtual void forget() {}

  void make(Call call);
  bool chance(double probability);
  std::size_t below(std::size_t bound);
  Duration draw_delay();
  NewJob draw_job(const Call& call, std::size_t item, const std::string& suffix = {});

  World& world_;
  const std::size_t process_;

 private:
  std::optional<Call> unsure_;
  std::uint64_t unsure_life_ = 0;
};

std::unique_ptr<Actor> make_client(World& world, std::size_t process);
std::unique_ptr<Actor> make_worker(World& world, std::size_t process);
std::unique_ptr<Actor> make_operator(World& world, std::size_t process);
std::unique_ptr<Actor> make_sweeper(World& world, std::size_t process);

}  // namespace sluice::queue::sim
