// SPDX-License-Identifier: MIT
// What a service answers.
#pragma once

#include <sluice/job.h>
#include <sluice/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::client {

// Bodies of answers that are successes. `commit_unknown` if one is not what a service answers: it
// may have done what it was asked.

Result<std::string> read_id(std::string_view body);
/// Of a batch of so many jobs.
Result<std::vector<Result<std::string>>> read_ids(std::string_view body, std::size_t count);
Result<std::vector<queue::Lease>> read_leases(std::string_view body);
Result<WallTime> read_deadline(std::string_view body);
Result<queue::Job> read_job(std::string_view body);
/// Of a queue.
Result<queue::Counts> read_counts(std::string_view body);

/// What an answer with a status of 300 or more means: what its body says, or else the status.
Status read_failure(unsigned status, std::string_view body);

}  // namespace sluice::client
