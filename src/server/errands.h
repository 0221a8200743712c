// SPDX-License-Identifier: MIT
// Work that may block, kept away from the threads that serve connections.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace sluice::server {

/// A few threads that run what they are given, in order. The destructor runs what is left.
class Errands {
 public:
  explicit Errands(unsigned threads, std::size_t waiting_max = 10'000);
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  /// From any thread. False if too many wait: `errand` is then untouched.
  bool run(std::function<void()>&& errand);

 private:
  void work(const std::stop_token& stop);

  const std::size_t waiting_max_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;
};

}  // namespace sluice::server
