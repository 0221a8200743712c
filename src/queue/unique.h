// SPDX-License-Identifier: MIT
// Unique keys: who holds one, and what each move of that job does to it (docs/design/flows.md).
#pragma once

#include <sluice/job.h>
#include <sluice/result.h>

#include <optional>
#include <string>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

/// What is stored under a unique key. Without a holder it only runs out with its window.
struct KeyHolder {
  std::string id = {};
  Millis until = 0;
  Bytes16 job = {};  ///< Zero: it has let go.
};
Result<KeyHolder> decode_key_holder(std::string_view value);

/// For an enqueue, once the job has its id. Gives `made` its key; or finds that the holder has to
/// be replaced, or kept (NewJobState::kept_id), or refuses with `already_exists`. `finishing` is a
/// job whose ack is under way and counts as finished.
Status accept_unique(Steps& steps, NewJobState& made, const Unique& unique,
                     const JobState* finishing);
/// The job that `job` replaces gives way.
Status replace_holder(Steps& steps, const NewJobState& job);
/// Writes the key of a new job, and into its record whether it holds it.
void put_new_key(Steps& steps, NewJobState& job, std::uint32_t ordinal);

/// The job is about to be in the lane `to`, or nowhere: lets the key go, or takes it again. Before
/// the record is written.
Status move_unique(Steps& steps, JobState& job, std::optional<Lane> to);
/// `already_exists` if the job, back in the lane `ready`, ought to hold a key that another one has.
Status check_key_free(Steps& steps, const JobState& job);

/// The window of a key is over.
Status free_key(Steps& steps, QueueState& queue, std::string_view key, Millis at);

}  // namespace sluice::queue
