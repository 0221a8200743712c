// SPDX-License-Identifier: MIT
// The limit on a whole queue's active jobs: free slots are keys that claims take and ends of
// leases put back, so that no counter is shared. free + leased - debt = active_max.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "queue/steps.h"

namespace sluice::queue {

/// Up to `count` free slots of the queue, those of `shards_first` before others. Only looked at.
Result<std::vector<std::string>> find_slots(Steps& steps, QueueState& queue, std::size_t count,
                                            const std::vector<std::uint32_t>& shards_first);
/// Takes a slot that find_slots() found; false if somebody else has it.
Result<bool> take_slot(Steps& steps, const std::string& slot);

/// A leased job leaves: its slot is free again, or pays a debt.
Status give_slot_back(Steps& steps, JobState& job);

/// The queue's limit becomes `limit`; its config still has the old one.
Status change_slots(Steps& steps, QueueState& queue, std::optional<std::uint32_t> limit);

}  // namespace sluice::queue
