// SPDX-License-Identifier: MIT
// The part of Queues::explain that is about other jobs and batches.
#pragma once

#include <sluice/result.h>

#include <string>
#include <vector>

#include "queue/look.h"

namespace sluice::queue {

/// What a waiting job, or a held one, waits for. Adds nothing if that is nothing.
Status explain_waiting(kv::Reader& reader, const FoundJob& job, const Keys& keys,
                       std::vector<std::string>& reasons);
/// Whether its batch was cancelled.
Status explain_batch(kv::Reader& reader, const FoundJob& job, const Keys& keys,
                     std::vector<std::string>& reasons);

}  // namespace sluice::queue
