// SPDX-License-Identifier: MIT
#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {

Status release(Steps& steps, const ReleaseRequest& request) {
  SLUICE_TRY(check_duration("the delay", request.delay, {}, kDelayMax));
  SLUICE_LET(job, get_leased(steps, request.queue, request.token));
  SLUICE_TRY(leave(steps, job));
  if (job.record.attempts > 0) --job.record.attempts;
  if (request.delay == Duration{}) return enter(steps, job, Lane::ready, Place::keep);
  job.record.due = steps.now() + to_millis(request.delay);
  return enter(steps, job, Lane::scheduled);
}

}  // namespace sluice::queue
