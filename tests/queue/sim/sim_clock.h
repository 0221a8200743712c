// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/clock.h>

namespace sluice::queue::sim {

/// A clock that moves only when the simulation moves it. A sleep takes one microsecond whatever was
/// asked for: the pauses between two tries of a transaction are drawn from the kernel's randomness,
/// and would make the run depend on more than its seed.
class SimClock final : public Clock {
 public:
  WallTime wall() const override { return clock_.wall(); }
  MonoTime mono() const override { return clock_.mono(); }
  void sleep_for(Duration, std::stop_token) const override {
    clock_.advance(std::chrono::microseconds(1));
  }

  void advance(Duration duration) const { clock_.advance(duration); }
  void step_wall(Duration by) { clock_.step_wall(by); }

 private:
  ManualClock clock_;
};

}  // namespace sluice::queue::sim
