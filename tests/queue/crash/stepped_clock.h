// SPDX-License-Identifier: MIT
// The machine's clock with a wall clock that another process can set, on a machine that it can
// suspend: two numbers in a file that both have mapped.
#pragma once

#include <sluice/clock.h>

#include <atomic>
#include <string>

namespace sluice::test {

class SteppedClock final : public Clock {
 public:
  /// The file is made if it is missing.
  explicit SteppedClock(const std::string& path);
  ~SteppedClock() override;
  SteppedClock(const SteppedClock&) = delete;
  SteppedClock& operator=(const SteppedClock&) = delete;

  WallTime wall() const override;
  MonoTime mono() const override;
  void sleep_for(Duration duration, std::stop_token stop) const override {
    system_clock().sleep_for(duration, std::move(stop));
  }

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
