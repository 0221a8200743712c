// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

Result<std::vector<NewJobState>> accept_all(Steps& steps, const JobState& acked,
                                            const std::vector<NewJob>& jobs) {
  std::vector<NewJobState> accepted;
  for (const auto& job : jobs) {
    auto one = accept(steps, job, {.finishing = &acked});
    if (!one) {
      for (const auto& before : accepted) take_back(steps, before);
      return Failure{one.error().with("child")};
    }
    accepted.push_back(std::move(*one));
  }
  return accepted;
}

}  // namespace

Result<JobState> get_leased(Steps& steps, std::string_view queue_name, const Token& token) {
  const auto lost = [&](std::string_view why) {
    return error(Code::lease_lost, fmt::format("{}: do not go on with this job", why));
  };
  SLUICE_LET(queue, steps.find_queue(queue_name));
  if (queue == nullptr) return lost("there is no such queue");
  SLUICE_LET(job, steps.find_job(*queue, Bytes16::of(token.job)));
  if (!job) return lost("the job is gone");
  if (job->record.lane != Lane::leased) return lost("the job is not leased any more");
  if (job->record.claims != token.claim) return lost("another worker has the job");
  if (steps.now() >= job->record.deadline) return lost("the lease is over");
  return std::move(*job);
}

Status ack(Steps& steps, const AckRequest& request) {
  if (request.result.size() > kResultBytesMax)
    return error(Code::invalid_argument, fmt::format("the result has {} bytes: {} is the most",
                                                     request.result.size(), kResultBytesMax));
  if (request.children.size() > kBatchJobsMax)
    return error(Code::invalid_argument,
                 fmt::format("{} children: {} is the most; let a child enqueue the others",
                             request.children.size(), kBatchJobsMax));
  SLUICE_LET(job, get_leased(steps, request.queue, request.token));
  SLUICE_LET(children, accept_all(steps, job, request.children));
  if (job.queue->config().done_retention > Duration{}) {
    SLUICE_TRY(add_attempt(steps, job, Outcome::acked, ""));
    job.record.result = request.result;
  }
  SLUICE_TRY(leave(steps, job));
  SLUICE_TRY(finish(steps, job, Lane::done));
  for (auto& child : children) SLUICE_TRY(admit(steps, std::move(child)));
  return {};
}

}  // namespace sluice::queue
