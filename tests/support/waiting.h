// SPDX-License-Identifier: MIT
// How the tests wait and read the clock. No other file of theirs does: tools/tidy sees to that. A
// frozen, starved or slow machine must not fail a test, so a test may know that at least so much
// time has gone by, or that one moment comes after another; never that something was quick.
#pragma once

#include <sluice/clock.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace sluice::test {

/// How long a test waits for what must happen: SLUICE_PATIENCE in seconds; else two minutes, ten
/// with SLUICE_LONG.
Duration patience();

/// True as soon as the condition holds, false when patience is over. It is asked every `period`
/// (zero: again and again), and once more after the end: the machine may have stood still.
[[nodiscard]] bool wait_until(const std::function<bool()>& condition,
                              Duration period = std::chrono::milliseconds(1));

/// Lets a moment go by before something is killed or looked at. What a test needs to have happened
/// by then is waited for with wait_until().
void pause(Duration duration);

/// Moments, to be compared with others; for the time between two there is Stopwatch.
MonoTime mono_now();
WallTime wall_now();

/// The machine's clock, for a test that gives the product one of which some part is its own.
class MachineClock : public Clock {
 public:
  WallTime wall() const override { return system_clock().wall(); }
  MonoTime mono() const override { return system_clock().mono(); }
  void sleep_for(Duration duration, std::stop_token stop) const override {
    system_clock().sleep_for(duration, std::move(stop));
  }
};

/// Counts from when it was made. It tells that a time has been reached, and what to print; it gives
/// no duration, so that no test holds one against an upper limit.
class Stopwatch {
 public:
  bool reached(Duration duration) const { return mono_now() >= begin_ + duration; }
  /// The microseconds so far, for a figure.
  std::string shown_us() const;

 private:
  MonoTime begin_ = mono_now();
};

/// Beats while this process runs, so that a wait can be told from a stall of the machine. begin()
/// and lasted() are for one thread.
class Heartbeat {
 public:
  /// Something begins that may take too long.
  void begin();
  /// Whether it has taken so long, and this process ran most of the time.
  bool lasted(Duration duration) const;

 private:
  static constexpr Duration kBeat = std::chrono::milliseconds(10);
  void beat(const std::stop_token& stop);

  std::atomic<std::int64_t> beats_ = 0;
  std::int64_t beats_before_ = 0;
  Stopwatch watch_;
  std::jthread thread_{[this](const std::stop_token& stop) { beat(stop); }};
};

}  // namespace sluice::test
