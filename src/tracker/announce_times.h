// SPDX-License-Identifier: MIT
// How long local peers wait for their answers.
#pragma once

#include <sluice/clock.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/histogram.h"

namespace sluice::tracker {

/// From the whole request to its answer, in nanoseconds, with the wait for upstreams. Thread-safe.
struct AnnounceTimes {
  Histogram http = {};
  Histogram udp = {};
};

/// Measures from its beginning until it is stopped, or ends. What it refers to outlives it.
class Stopwatch {
 public:
  Stopwatch(const Clock& clock, Histogram& into)
      : clock_(&clock), into_(&into), began_(clock.mono()) {}
  Stopwatch(Stopwatch&& other) noexcept
      : clock_(other.clock_), into_(std::exchange(other.into_, nullptr)), began_(other.began_) {}
  Stopwatch& operator=(Stopwatch&&) = delete;
  ~Stopwatch() { stop(); }

  void stop() {
    if (into_ == nullptr) return;
    const std::chrono::nanoseconds took = clock_->mono() - began_;
    std::exchange(into_, nullptr)->record(static_cast<std::uint64_t>(took.count()));
  }

 private:
  const Clock* clock_;
  Histogram* into_;  ///< Null: it is stopped, or another one measures on.
  MonoTime began_;
};

}  // namespace sluice::tracker
