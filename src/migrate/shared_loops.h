// SPDX-License-Identifier: MIT
// Loops in which threads that have nothing else to do take part.
#pragma once

#include <cstddef>
#include <functional>
#include <list>

#include "base/mutex.h"

namespace sluice::migrate {

/// Thread-safe. Whoever begins a loop takes part in it until its end, so that it ends also if
/// nobody helps.
class SharedLoops {
 public:
  using Body = std::function<void(std::size_t number)>;

  /// `announce` is called whenever a loop begins in which others can take part.
  explicit SharedLoops(std::function<void()> announce) : announce_(std::move(announce)) {}
  SharedLoops(const SharedLoops&) = delete;
  SharedLoops& operator=(const SharedLoops&) = delete;

  /// Calls `body` once with each number below `count`, the lower ones first, from this thread and
  /// from those that help. Ends when all these calls have ended.
  void run(std::size_t count, const Body& body);
  /// Whether help() would find something to do.
  bool want_help();
  /// Takes part in the oldest loop until all its numbers are taken.
  void help();

 private:
  struct Loop {
    const Body& body;
    std::size_t count = 0;
    std::size_t taken = 0;
    std::size_t helpers = 0;
  };

  Loop* oldest_open() SLUICE_ANNOTATE(requires_capability(mutex_));
  void take_part(Loop& loop) SLUICE_ANNOTATE(requires_capability(mutex_));

  const std::function<void()> announce_;
  Mutex mutex_;
  std::condition_variable_any left_;  // A helper has.
  std::list<Loop> loops_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::migrate
