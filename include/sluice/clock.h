// SPDX-License-Identifier: MIT
// Time as a seam: nothing in Sluice reads the clock or sleeps except through a Clock, so that the
// tests and the simulator decide what time it is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>

namespace sluice {

using Duration = std::chrono::nanoseconds;
/// The date, as people read it. It may be stepped in either direction at any moment.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;
struct MonoTimeline {};
/// Time since boot, counted through suspend. It never runs backwards, and means nothing in another
/// boot or on another machine.
using MonoTime = std::chrono::time_point<MonoTimeline, Duration>;

/// Thread-safe. A Clock outlives everything that was given it.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual MonoTime mono() const = 0;
  /// Returns after `duration`, or as soon as `stop` is requested.
  virtual void sleep_for(Duration duration, std::stop_token stop) const = 0;
  /// Returns at `until`, or once somebody has changed `word` from `expected` and called wake();
  /// perhaps earlier, for no reason. MonoTime::max() is never. By itself it passes real time.
  virtual void wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                    MonoTime until) const;
  /// Wakes everybody in this process who waits for `word`, by whichever clock.
  static void wake(const std::atomic<std::uint32_t>& word);
};

/// The machine's clock. One for the whole process.
const Clock& system_clock();

/// A clock that stands still until it is moved. sleep_for() moves it by the duration and returns
/// at once, so code that sleeps runs in no time at all; so does wait(), to the time it is given,
/// unless that is never.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime(std::chrono::seconds(1'700'000'000)))
      : wall_ns_(start.time_since_epoch().count()) {}

  WallTime wall() const override { return WallTime(Duration(wall_ns_.load())); }
  MonoTime mono() const override { return MonoTime(Duration(mono_ns_.load())); }
  void sleep_for(Duration duration, std::stop_token stop) const override;
  void wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
            MonoTime until) const override;

  /// Time passes: both clocks move forward. `duration` must not be negative.
  void advance(Duration duration) const;
  /// Somebody sets the date: the wall clock moves, in either direction; the other does not.
  void step_wall(Duration by) { wall_ns_ += by.count(); }

 private:
  mutable std::atomic<std::int64_t> wall_ns_;
  mutable std::atomic<std::int64_t> mono_ns_{1'000'000'000};
};

}  // namespace sluice
