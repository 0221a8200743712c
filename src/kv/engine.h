// SPDX-License-Identifier: MIT
// What the engines have in common: running a body once, and running it again after a conflict.
#pragma once

#include <sluice/kv.h>

#include <functional>
#include <optional>

#include "base/histogram.h"
#include "kv/overlay.h"
#include "kv/view.h"

namespace sluice::kv {

/// The only maker of Readers and Transactions.
class Engine {
 public:
  /// Runs `body` once. On success `overlay` holds what it wrote; nothing has been applied. A limit
  /// that the body broke, or a failed read, wins over what the body returned.
  static Status run_body(const Body& body, View& view, Overlay& overlay, const Clock& clock);
  static Status run_read(const ReadBody& body, View& view, const ReadOptions& options,
                         const Clock& clock);

  /// Whether this thread is inside a body at the moment.
  static bool inside_body();
};

/// One try at a transaction: its outcome, or nothing if it lost to another and must run again.
using Attempt = std::function<std::optional<Result<Commit>>()>;

/// Calls `attempt` until it has an outcome, with growing random pauses on `clock` (random, so that
/// two losers do not meet again and again). After `attempts_max` tries the outcome is `conflict`.
Result<Commit> retry_conflicts(const Attempt& attempt, unsigned attempts_max, const Clock& clock);

Distribution distribution_of(const Histogram& histogram);

}  // namespace sluice::kv
