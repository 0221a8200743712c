// SPDX-License-Identifier: MIT
// Dependencies: which jobs a job waits for, and what happens to those that wait when one finishes
// (docs/design/flows.md).
//
// A tie has two entries. One lies with the job that waits (space `after`): a job with such entries
// is waiting, or held. The other lies with the job that is waited for (space `dependant`), ordered
// by policy, and is only a hint: it counts if the first one is there and has the same token.
#pragma once

#include <sluice/job.h>
#include <sluice/queue.h>
#include <sluice/result.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "queue/steps.h"

namespace sluice::queue {

/// Settled by one transaction; the rest is for the agenda.
inline constexpr std::size_t kReleasesMax = 1'000;

/// For an enqueue: the ties that a job of `queue` gets, without what is settled already.
Result<std::vector<Tie>> accept_after(Steps& steps, QueueState& queue, std::string_view id,
                                      std::span<const After> after, const JobState* finishing);
/// The jobs waited for learn that they are.
Status admit_ties(Steps& steps, const NewJobState& job);
/// Writes the entries of a new job's ties.
void put_ties(Steps& steps, const NewJobState& job, std::uint32_t ordinal);

Status add_after(Steps& steps, const AddAfterRequest& request);

/// The job finishes: it waits for nothing any more.
Status stop_waiting(Steps& steps, JobState& job);

/// For flush(): settles what the finished jobs of this transaction have caused, up to kReleasesMax
/// ties, and leaves the rest on the agenda.
Status settle_releases(Steps& steps);
/// Goes on with a release from the agenda: at most `ties_max` ties, `settled` of which it did.
/// Whether it is through.
Result<bool> settle_some(Steps& steps, const Release& release, std::size_t ties_max,
                         std::size_t& settled);
std::string encode_release(const Release& release);
Result<Release> decode_release(QueueState& queue, std::string_view subject, std::string_view value);

}  // namespace sluice::queue
