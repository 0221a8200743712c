// SPDX-License-Identifier: MIT
// Answers questions that take a while, away from the threads that serve peers.
#pragma once

#include <sluice/clock.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "net/http.h"
#include "retracker/stats_ask.h"

namespace sluice::cli {

/// One after another, on a thread of its own. Whoever has left meanwhile costs nothing.
/// Lifecycle: stop() or the destructor ends it; what still waits is then answered with 500.
/// Concurrency: add() from any thread.
class Reporter {
 public:
  using Make = std::function<net::HttpResponse(const StatsAsk&)>;

  /// `clock` outlives it, and whatever `make` refers to.
  Reporter(const Clock& clock, Make make);
  ~Reporter() { stop(); }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void add(net::Exchange exchange, StatsAsk ask);
  void stop();

 private:
  struct Waiting {
    net::Exchange exchange;
    StatsAsk ask;
  };
  void run(const std::stop_token& stop);
  void wake();

  const Clock& clock_;
  const Make make_;
  std::atomic<std::uint32_t> calls_ = 0;
  Mutex mutex_;
  std::vector<Waiting> waiting_ SLUICE_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace sluice::cli
