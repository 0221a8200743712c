// SPDX-License-Identifier: MIT
// The machine's clock with a wall clock that another process can set, on a machine that it can
// suspend: two numbers in a file that both have mapped.
#pragma once

#include <atomic>
#include <string>

#include "tests/support/waiting.h"

namespace sluice::test {

class SteppedClock final : public MachineClock {
 public:
  /// The file is made if it is missing.
  explicit SteppedClock(const std::string& path);
  ~SteppedClock() override;
  SteppedClock(const SteppedClock&) = delete;
  SteppedClock& operator=(const SteppedClock&) = delete;

  WallTime wall() const override;
  MonoTime mono() const override;

  // For every process at once.

  void set_wrong_by(Duration by);
  /// Both clocks go on so much later, as after a suspend.
  void suspend(Duration lasted);

 private:
  struct Layout {
    std::atomic<std::int64_t> wrong_by_ns;
    std::atomic<std::int64_t> suspended_ns;
  };
  Layout* layout_;
};

}  // namespace sluice::test
