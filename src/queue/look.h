// SPDX-License-Identifier: MIT
// What looking at jobs shares: from stored bytes to what callers see.
#pragma once

#include <sluice/queue.h>

#include <optional>
#include <string>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

/// Without payload and history.
Job to_job(const QueueRecord& queue, const Bytes16& number, const JobRecord& record);
/// The stored job of that number; nothing if there is none.
Result<std::optional<StoredJob>> read_job(kv::Reader& reader, const Keys& keys,
                                          const Bytes16& number);
/// The job of that id, or `not_found`.
struct FoundJob {
  QueueRecord queue = {};
  Bytes16 number = {};
  StoredJob stored = {};
};
Result<FoundJob> find_by_id(kv::Reader& reader, const JobRef& ref);

/// As "2026-01-02T03:04:05Z".
std::string time_text(Millis ms);

}  // namespace sluice::queue
