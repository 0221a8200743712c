// SPDX-License-Identifier: MIT
// Reading jobs and workers for the commands.
#pragma once

#include <sluice/queue.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "queuectl/context.h"
#include "queuectl/job_view.h"
#include "worker/recovery.h"

namespace sluice::cli {

struct JobQuery {
  std::string queue = {};
  std::vector<State> states = {};
  std::uint64_t limit = UINT64_MAX;
  std::string group = {};
  std::string label = {};
};

/// Visits the jobs, state by state, each state in its own order, until `visit` answers false. A
/// queue that does not exist has none.
Status each_job(queue::Queues& queues, const JobQuery& query,
                const std::function<Result<bool>(JobView&)>& visit);

/// `not_found` says where it was looked for.
Result<JobView> get_job(queue::Queues& queues, const queue::JobRef& ref,
                        const queue::GetOptions& options = {.payload = true});
/// Reads the job's history, which a listing does not have.
Status add_history(queue::Queues& queues, JobView& view);

using StateCounts = std::array<std::uint64_t, kStateCount>;
/// By State. Jobs in backoff are told from scheduled ones one by one; all other counts are kept.
Result<StateCounts> count_states(queue::Queues& queues, const std::string& queue);

Result<std::vector<worker::LiveWorker>> live_workers(Context& context);

}  // namespace sluice::cli
