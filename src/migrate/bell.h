// SPDX-License-Identifier: MIT
// What loops sleep on until there may be something to do.
#pragma once

#include <sluice/clock.h>

#include <atomic>
#include <cstdint>

namespace sluice::migrate {

/// A loop asks what was heard(), then looks for something to do, and waits if there is nothing: a
/// ring in between is not missed. Thread-safe.
class Bell {
 public:
  std::uint32_t heard() const { return rung_; }
  /// Until it rings again, or `until`.
  void wait(const Clock& clock, std::uint32_t heard, MonoTime until) {
    ++sleepers_;
    clock.wait(rung_, heard, until);
    --sleepers_;
  }
  /// Costs a system call only if somebody sleeps.
  void ring() {
    ++rung_;
    if (sleepers_ > 0) Clock::wake(rung_);
  }

 private:
  std::atomic<std::uint32_t> rung_ = 0;
  std::atomic<std::uint32_t> sleepers_ = 0;
};

}  // namespace sluice::migrate
