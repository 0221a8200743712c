// SPDX-License-Identifier: MIT
// The verbs inside a transaction, one file each. A verb that returns a failure has changed nothing
// (unless the failure is the store's own, which ends the transaction anyway). What they change is
// complete after Steps::flush().
#pragma once

#include <sluice/queue.h>
#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "queue/steps.h"

namespace sluice::queue {

/// Checks everything and remembers the job for the end of the transaction. The job's id.
Result<std::string> enqueue(Steps& steps, const NewJob& job);
/// The same in two halves, for verbs that enqueue only if something else works out too. admit()
/// refuses nothing; instead of it, take_back() undoes accept(). The job's id.
struct AcceptOptions {
  const JobState* finishing = nullptr;  ///< The job whose ack this is part of: as good as done.
  bool uncapped = false;                ///< Whatever the backlog is.
};
Result<NewJobState> accept(Steps& steps, const NewJob& job, const AcceptOptions& options = {});
void take_back(Steps& steps, const NewJobState& job);
/// Whether a job was refused for what it is, and not because the store failed.
bool is_refusal(const Status& status);
Result<std::string> admit(Steps& steps, NewJobState job);

/// The job that is leased under the token, or `lease_lost`.
Result<JobState> get_leased(Steps& steps, std::string_view queue, const Token& token);
/// `conflict`, saying which lanes the verb is for.
Failure wrong_lane(std::string_view verb, const JobState& job);

Result<WallTime> extend(Steps& steps, const ExtendRequest& request);
Status ack(Steps& steps, const AckRequest& request);
Status fail(Steps& steps, const FailRequest& request);
Status release(Steps& steps, const ReleaseRequest& request);
Status cancel(Steps& steps, const JobRef& ref);
Status requeue(Steps& steps, const RequeueRequest& request);
Status edit(Steps& steps, const EditRequest& request);
Status hold(Steps& steps, const JobRef& ref);
Status unhold(Steps& steps, const JobRef& ref);
Status break_lease(Steps& steps, const JobRef& ref);
Status remove(Steps& steps, const JobRef& ref);

Status configure(Steps& steps, std::string_view name, const QueueConfig& config);
Status limit_group(Steps& steps, std::string_view queue, std::string_view group,
                   std::optional<std::uint32_t> limit);
Status set_paused(Steps& steps, std::string_view queue, bool paused);
Status remove_queue(Steps& steps, std::string_view queue);

/// What a claim is for: several callers may share one, with one list of queues.
struct Taker {
  std::size_t jobs_max = 1;
  std::optional<Duration> lease = {};
  std::string worker = {};
};
struct ClaimPlan {
  std::vector<std::string> queues = {};
  std::vector<std::string> skip_groups = {};
  std::vector<Taker> takers = {};
};
struct ClaimOutcome {
  std::vector<std::vector<Lease>> leases = {};  ///< One list per taker.
  bool moved = false;
  std::optional<Millis> next = {};
};
Result<ClaimOutcome> claim(Steps& steps, const ClaimPlan& plan);

/// The lease that a claimed job's worker gets.
Result<Lease> make_lease(Steps& steps, const JobState& job);

}  // namespace sluice::queue
