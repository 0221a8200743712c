// SPDX-License-Identifier: MIT
#include "base/mutant.h"
#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {

Status release(Steps& steps, const ReleaseRequest& request) {
  SLUICE_TRY(check_duration("the delay", request.delay, {}, kDelayMax));
  SLUICE_LET(job, get_leased(steps, request.queue, request.token));
  SLUICE_TRY(leave(steps, job));
  if (job.record.attempts > 0 && !mutant("queue.release_counts")) --job.record.attempts;
  if (request.delay == Duration{})
    return enter(steps, job, Lane::ready,
                 mutant("queue.release_to_the_end") ? Place::fresh : Place::keep);
  job.record.due = steps.now() + to_millis(request.delay);
  return enter(steps, job, Lane::scheduled);
}

}  // namespace sluice::queue
