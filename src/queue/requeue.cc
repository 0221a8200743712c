// SPDX-License-Identifier: MIT
#include "base/mutant.h"
#include "queue/group.h"
#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {

Status requeue(Steps& steps, const RequeueRequest& request) {
  SLUICE_LET(job, steps.get_job(request.queue, request.id));
  if (job.record.lane < Lane::done) return wrong_lane("requeue", job);
  SLUICE_TRY(leave(steps, job));
  JobRecord& record = job.record;
  if (!request.keep_attempts && !mutant("queue.requeue_keeps_attempts")) record.attempts = 0;
  record.lapses = 0;
  record.due = 0;
  record.expires = 0;
  record.reason = DeathReason::none;
  record.error.clear();
  record.result.clear();
  record.progress.clear();
  // The queue may have got another number of shards since.
  record.shard = shard_for(job.queue->config(), record.group, record.id);
  return enter(steps, job, Lane::ready, Place::fresh);
}

}  // namespace sluice::queue
