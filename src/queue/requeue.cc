// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "queue/batch.h"
#include "queue/group.h"
#include "queue/lanes.h"
#include "queue/unique.h"
#include "queue/verbs.h"

namespace sluice::queue {

Status requeue(Steps& steps, const RequeueRequest& request) {
  SLUICE_LET(job, steps.get_job(request.queue, request.id));
  if (job.record.lane < Lane::done) return wrong_lane("requeue", job);
  JobRecord& record = job.record;
  // Whoever began to wait for it now would be settled by the release of those before.
  const std::string release =
      job.queue->keys.agenda(record.finished_at(), Errand::release, job.number.view());
  SLUICE_LET(releasing, steps.txn().visit(release, [](std::string_view) {}));
  if (releasing)
    return error(Code::conflict,
                 fmt::format("the jobs that waited for \"{}\" are still being released: try again",
                             record.id));
  SLUICE_TRY(check_key_free(steps, job));
  SLUICE_TRY(return_member(steps, job));
  SLUICE_TRY(leave(steps, job));
  if (!request.keep_attempts) record.attempts = 0;
  record.lapses = 0;
  record.due = 0;
  record.expires = 0;
  record.finished = 0;
  record.reason = DeathReason::none;
  record.error.clear();
  record.result.clear();
  record.progress.clear();
  // The queue may have got another number of shards since.
  record.shard = shard_for(job.queue->config(), record.group, record.id);
  return enter(steps, job, Lane::ready, Place::fresh);
}

}  // namespace sluice::queue
