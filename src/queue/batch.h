// SPDX-License-Identifier: MIT
// Batches: jobs that belong together, and the callback when all of them are finished
// (docs/design/flows.md).
#pragma once

#include <sluice/flow.h>
#include <sluice/result.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

Result<std::string> open_batch(Steps& steps, const NewBatch& batch);
Status seal_batch(Steps& steps, const BatchRef& ref);
Status cancel_batch(Steps& steps, const BatchRef& ref);

Failure no_such_batch(std::string_view queue, std::string_view id);

/// The batch of that id; null if there is none.
Result<BatchState*> find_batch(Steps& steps, QueueState& queue, std::string_view id);

/// For an enqueue: `not_found` or `conflict` unless the batch takes another job. `finishing` is the
/// job whose ack enqueues it.
Status check_open(Steps& steps, QueueState& queue, std::string_view id, const JobState* finishing);
/// The job is a member from now on.
Status add_member(Steps& steps, const NewJobState& job);
/// A member goes to `lane`, one of the finished ones.
void end_member(Steps& steps, JobState& job, Lane lane);
/// A finished member is about to be unfinished again.
Status return_member(Steps& steps, JobState& job);
/// Whether the job's batch was cancelled, so that it is not to be handed out.
Result<bool> is_dropped(Steps& steps, const JobState& job);

/// For flush(): writes what changed, and ends the batches that are through.
Status settle_batches(Steps& steps, QueueState& queue);

/// From the agenda. Cancels up to `jobs_max` unfinished members; whether all are.
Result<bool> drop_members(Steps& steps, QueueState& queue, std::string_view id,
                          std::size_t jobs_max, std::size_t& dropped);
Status forget_batch(Steps& steps, QueueState& queue, std::string_view id);

/// A batch as callers see it.
Result<Batch> read_batch(kv::Reader& reader, const QueueRecord& queue, const BatchRecord& record);

}  // namespace sluice::queue
