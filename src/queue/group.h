// SPDX-License-Identifier: MIT
// Groups: which job of one is first, whether it has a free slot, and so whether it has an offer.
#pragma once

#include <sluice/job.h>
#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

/// A job without a group by its id, one with a group by the group's name.
std::uint32_t shard_for(const QueueConfig& config, std::string_view group, std::string_view id);

/// The limit in force; nothing if there is none.
std::optional<std::uint32_t> limit_of(const QueueState& queue, const GroupState& group);
/// The group's leased jobs, this transaction's moves included.
Result<std::int64_t> active_of(Steps& steps, QueueState& queue, GroupState& group);
Result<bool> has_free_slot(Steps& steps, QueueState& queue, GroupState& group);

/// Reads which ready job is the first. Before the group's range is changed, and so before any of
/// the three below writes to it: they call it.
Status know_first(Steps& steps, QueueState& queue, GroupState& group);
/// A ready job joins at a known place.
Status join_at(Steps& steps, QueueState& queue, GroupState& group, const GroupState::Ready& job);
/// A ready job joins at the place that the commit will give it.
Status join_fresh(Steps& steps, QueueState& queue, GroupState& group, GroupState::Fresh fresh);
/// A ready job left, and its key is erased. The group must not have fresh jobs.
Status leave_spot(Steps& steps, QueueState& queue, GroupState& group, const Spot& spot);

/// The number of jobs in a lane changes.
void count_group(GroupState& group, Lane lane, std::int64_t delta);

/// In a fair queue: the round that claims of the shard have reached.
Result<std::uint64_t> round_of(Steps& steps, const QueueState& queue, std::uint32_t shard);

/// Writes counts, record, offer and block; takes a group that has nothing left away.
Status flush_group(Steps& steps, QueueState& queue, GroupState& group);

}  // namespace sluice::queue
