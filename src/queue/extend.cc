// SPDX-License-Identifier: MIT
#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/names.h"
#include "queue/verbs.h"

namespace sluice::queue {

Result<WallTime> extend(Steps& steps, const ExtendRequest& request) {
  if (request.lease) SLUICE_TRY(check_lease(*request.lease));
  SLUICE_LET(job, get_leased(steps, request.queue, request.token));
  const QueueState& queue = *job.queue;
  JobRecord& record = job.record;
  const auto key = [&] {
    return queue.keys.timed(Space::leased, record.shard, record.deadline, job.number);
  };
  steps.txn().erase(key());
  record.deadline = steps.now() + to_millis(request.lease.value_or(queue.config().lease));
  steps.txn().put(key(), "");
  if (request.progress) record.progress = cut_text(*request.progress, kTextBytesMax);
  rewrite(steps, job);
  return to_wall(record.deadline);
}

}  // namespace sluice::queue
