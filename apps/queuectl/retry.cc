// SPDX-License-Identifier: MIT
#include "queuectl/retry.h"

#include "queuectl/jobs.h"
#include "queuectl/selection.h"

namespace sluice::cli {
namespace {

/// Looks first, because what may be done depends on the state; the verb itself then refuses a job
/// that has moved on meanwhile.
Status retry_one(queue::Queues& queues, const queue::JobRef& ref, const RetryHow& how) {
  SLUICE_LET(shown, get_job(queues, ref));
  switch (shown.state) {
    case State::completed:
      if (how.completed_too) break;
      return error(Code::conflict, "it is completed: queuectl retry --force runs it again");
    case State::dead:
    case State::cancelled:
      break;
    case State::failed:
      if (how.waiting_too)
        return queues.edit({.queue = ref.queue, .id = ref.id, .due = queues.store().now()});
      [[fallthrough]];
    default:
      return error(Code::conflict, "it is " + std::string(state_name(shown.state)) +
                                       ": only a job that is over can be run again");
  }
  return queues.requeue({.queue = ref.queue, .id = ref.id, .keep_attempts = how.keep_attempts});
}

}  // namespace

Result<int> retry_jobs(Context& context, std::span<const queue::JobRef> jobs, const RetryHow& how) {
  SLUICE_LET(queues, context.queues());
  return apply(context, jobs, "will run again", [&](std::span<const queue::JobRef> some) {
    std::vector<Status> results;
    for (const queue::JobRef& ref : some) results.push_back(retry_one(*queues, ref, how));
    return results;
  });
}

}  // namespace sluice::cli
