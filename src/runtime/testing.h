// SPDX-License-Identifier: MIT
// What the tests of the runtime share.
#pragma once

#include <sluice/runtime/delay_queue.h>
#include <sluice/runtime/executor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// Runs the loops by turns on the caller's thread, each step without waiting.
class TurnExecutor final : public Executor {
 public:
  void start(Loop loop) override { loops_.push_back(std::make_unique<Loop>(std::move(loop))); }

  /// One step of the loop of that number, counted over those that are not finished. Loops that it
  /// starts come last.
  LoopStep step(std::size_t number) {
    Loop* const loop = loops_[number].get();
    const LoopStep step = loop->step({});
    if (step == LoopStep::finished) std::erase_if(loops_, [&](auto& l) { return l.get() == loop; });
    return step;
  }
  /// Steps of all in turn until nobody has anything to do.
  void run() {
    for (bool busy = true; busy;) {
      busy = false;
      for (std::size_t i = 0; i < loops_.size();) {
        const std::size_t before = loops_.size();
        const LoopStep done = step(i);
        busy = busy || done != LoopStep::idle;
        if (loops_.size() >= before && done != LoopStep::finished) ++i;
      }
    }
  }
  std::size_t size() const { return loops_.size(); }

 private:
  std::vector<std::unique_ptr<Loop>> loops_;
};

}  // namespace sluice::runtime
