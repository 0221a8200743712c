// SPDX-License-Identifier: MIT
// What time does to jobs: leases end, jobs come due, expire, and are forgotten. Claims do a little
// of it on the way, sweep does all of it.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <optional>

#include "queue/steps.h"

namespace sluice::queue {

// Each moves at most `moves_max` jobs and returns how many it did.

/// Leases that are over: back to the old place, or dead.
Result<std::size_t> end_leases(Steps& steps, QueueState& queue, std::uint32_t shard,
                               std::size_t moves_max);
/// Scheduled jobs whose time has come, in due order.
Result<std::size_t> ready_due(Steps& steps, QueueState& queue, std::uint32_t shard,
                              std::size_t moves_max);
/// Jobs past their time to live.
Result<std::size_t> bury_expired(Steps& steps, QueueState& queue, std::uint32_t shard,
                                 std::size_t moves_max);
/// Finished jobs past their retention.
Result<std::size_t> forget_finished(Steps& steps, QueueState& queue, std::size_t moves_max);
/// Blocked groups, looked at again after the queue's group limit was raised.
Result<std::size_t> review_blocked(Steps& steps, QueueState& queue, std::size_t groups_max);

/// `earliest` becomes `other` if that is there and earlier.
template <class Time>
void keep_earliest(std::optional<Time>& earliest, const std::optional<Time>& other) {
  if (other && (!earliest || *other < *earliest)) earliest = other;
}

/// When end_leases() or ready_due() has something to do next.
Result<std::optional<Millis>> next_claimable(kv::Reader& reader, const Keys& keys,
                                             const QueueConfig& config);
/// When any of them has.
Result<std::optional<Millis>> next_deadline(kv::Reader& reader, const Keys& keys,
                                            const QueueRecord& queue, Millis now);

}  // namespace sluice::queue
