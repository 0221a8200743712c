// SPDX-License-Identifier: MIT
// Which shards of a queue a process claims from first, so that processes do not get into each
// other's way.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <vector>

#include "queue/steps.h"

namespace sluice::queue {

/// A process that has not claimed for this long has no shards of its own.
inline constexpr Millis kClaimerTtl = 30'000;

struct ShardPlan {
  std::vector<std::uint32_t> home = {};
  std::vector<std::uint32_t> others = {};  ///< In random order: looked at when home is empty.
};

/// Deals the shards out evenly over the processes that claim from the queue, in the order of their
/// ids. Registers this process now and then. With one shard it costs nothing.
Result<ShardPlan> plan_shards(Steps& steps, QueueState& queue);

/// Forgets processes that have not claimed for a while.
Status sweep_claimers(Steps& steps, QueueState& queue);

}  // namespace sluice::queue
