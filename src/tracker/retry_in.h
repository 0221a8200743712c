// SPDX-License-Identifier: MIT
// When a client that was refused may come back (BEP 31).
#pragma once

#include <chrono>

namespace sluice::tracker {

struct RetryIn {
  bool never = false;
  std::chrono::minutes after{0};  ///< If not never; at least 1.
  friend bool operator==(const RetryIn&, const RetryIn&) = default;
};

}  // namespace sluice::tracker
