// SPDX-License-Identifier: MIT
// What an engine shows of its committed state to one transaction.
#pragma once

#include <sluice/kv.h>

#include <string_view>

namespace sluice::kv {

/// Implemented by each engine. Lives as long as the transaction it serves, on one thread. Never
/// shows the transaction's own writes (those are in its Overlay). Where the engine detects
/// conflicts, it remembers what was read with Isolation::conflicting.
class View {
 public:
  virtual ~View() = default;

  /// Shows the value if the key is there; returns whether it is.
  virtual Result<bool> get(std::string_view key, Isolation isolation,
                           const ValueVisitor& visitor) = 0;

  struct Scan {
    std::string_view begin;
    std::string_view end;
    bool reverse = false;
    Isolation isolation = Isolation::conflicting;
  };
  /// Visits in order until the visitor returns false. What lies beyond the last visited key does
  /// not count as read.
  virtual Status scan(const Scan& scan, const Visitor& visitor) = 0;

  /// The store's epoch in this state of it.
  virtual Result<std::uint16_t> epoch() = 0;
};

}  // namespace sluice::kv
