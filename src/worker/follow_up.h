// SPDX-License-Identifier: MIT
// What `--on-done` asks for.
#pragma once

#include <sluice/queue.h>

#include <cstdint>
#include <optional>

#include "worker/command.h"
#include "worker/report.h"

namespace sluice::worker {

/// The job that follows `job`, which has ended with `report` for good; nothing if its command asks
/// for none. To be enqueued in the transaction that ends that one: so it runs exactly once, and is
/// as durable.
std::optional<queue::NewJob> follow_up(const queue::JobRef& job, std::int32_t priority,
                                       const Command& command, const Report& report, bool dead);

}  // namespace sluice::worker
