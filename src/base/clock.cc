// SPDX-License-Identifier: MIT
#include <sluice/clock.h>

#include <condition_variable>
#include <ctime>
#include <mutex>

#include "base/check.h"
#include "base/futex.h"

namespace sluice {
namespace {

Duration read_clock(clockid_t id) {
  timespec now{};
  SLUICE_CHECK(clock_gettime(id, &now) == 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class SystemClock final : public Clock {
 public:
  WallTime wall() const override { return WallTime(read_clock(CLOCK_REALTIME)); }
  MonoTime mono() const override { return MonoTime(read_clock(CLOCK_BOOTTIME)); }
  void sleep_for(Duration duration, std::stop_token stop) const override {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, duration, [] { return false; });
  }
};

}  // namespace

void Clock::wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                 MonoTime until) const {
  if (until == MonoTime::max())
    futex_wait_private(word, expected, kFutexAllBits);
  else
    futex_wait_private(word, expected, until - mono());
}

void Clock::wake(const std::atomic<std::uint32_t>& word) {
  futex_wake_private(word, kFutexAllBits);
}

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

void ManualClock::sleep_for(Duration duration, std::stop_token stop) const {
  if (!stop.stop_requested() && duration > Duration::zero()) advance(duration);
}

void ManualClock::wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       MonoTime until) const {
  if (until == MonoTime::max()) return Clock::wait(word, expected, until);
  if (word.load() != expected) return;
  // Several may wait at once: time goes to the latest of what they wait for, once.
  std::int64_t now = mono_ns_.load();
  const std::int64_t then = until.time_since_epoch().count();
  while (now < then && !mono_ns_.compare_exchange_weak(now, then)) {
  }
  if (now < then) wall_ns_ += then - now;
}

void ManualClock::advance(Duration duration) const {
  SLUICE_CHECK(duration >= Duration::zero());
  wall_ns_ += duration.count();
  mono_ns_ += duration.count();
}

}  // namespace sluice
