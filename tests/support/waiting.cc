// SPDX-License-Identifier: MIT
#include "tests/support/waiting.h"

#include <sched.h>

#include <cstdlib>

namespace sluice::test {

Duration patience() {
  if (const char* text = std::getenv("SLUICE_PATIENCE"))
    return std::chrono::seconds(std::strtoll(text, nullptr, 10));
  return std::chrono::minutes(std::getenv("SLUICE_LONG") != nullptr ? 10 : 2);
}

bool wait_until(const std::function<bool()>& condition, Duration period) {
  const Stopwatch watch;
  for (;;) {
    const bool over = watch.reached(patience());
    if (condition()) return true;
    if (over) return false;
    if (period == Duration::zero())
      sched_yield();
    else
      pause(period);
  }
}

void pause(Duration duration) {
  system_clock().sleep_for(duration, {});
}

MonoTime mono_now() {
  return system_clock().mono();
}

WallTime wall_now() {
  return system_clock().wall();
}

std::string Stopwatch::shown_us() const {
  return std::to_string((mono_now() - begin_).count() / 1'000);
}

void Heartbeat::begin() {
  beats_before_ = beats_;
  watch_ = {};
}

bool Heartbeat::lasted(Duration duration) const {
  return watch_.reached(duration) && (beats_ - beats_before_) * kBeat >= duration / 2;
}

void Heartbeat::beat(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    system_clock().sleep_for(kBeat, stop);
    ++beats_;
  }
}

}  // namespace sluice::test
