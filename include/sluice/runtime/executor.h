// SPDX-License-Identifier: MIT
// Who runs the loops of a pool: threads in a program, a simulator in a test.
#pragma once

#include <sluice/clock.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sluice::runtime {

enum class LoopStep : std::uint8_t {
  again,     ///< Something was done.
  idle,      ///< There was nothing to do.
  finished,  ///< Not to be called any more.
};

/// Work that is done in steps, until it says that it is finished. A step waits for something to do
/// for at most `wait_max`, and never throws.
struct Loop {
  std::string name = {};
  std::function<LoopStep(Duration wait_max)> step = {};
};

/// Calls the steps of each loop one after another, those of different loops as it likes.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Any thread may start a loop, also a step of another one.
  virtual void start(Loop loop) = 0;
};

/// A thread for each loop. Its owner is the program: the library starts no thread by itself.
///
/// Lifecycle: the destructor waits until every loop is finished, so whoever started them ends them
/// first. A finished loop's thread is joined when the next one starts, or then.
/// Concurrency: thread-safe. Cost: a thread per loop.
class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor();
  ~ThreadExecutor() override;
  void start(Loop loop) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::runtime
