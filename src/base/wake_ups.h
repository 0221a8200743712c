// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

namespace sluice {

/// For a thread that hands out many things at once: while one of these lives, the wake-ups that the
/// thread is about to make are put off until the end of it. So whoever gets several things is woken
/// once, when all of them are there. In the scope of another one it does nothing.
class WakeUps {
 public:
  WakeUps();
  ~WakeUps();
  WakeUps(const WakeUps&) = delete;
  WakeUps& operator=(const WakeUps&) = delete;

  /// At the end of the calling thread's, or now if it has none.
  static void make(std::function<void()> wake_up);

 private:
  const bool outermost_;
  std::vector<std::function<void()>> put_off_;
};

}  // namespace sluice
