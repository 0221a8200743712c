// SPDX-License-Identifier: MIT
#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {

Status cancel(Steps& steps, const JobRef& ref) {
  SLUICE_LET(job, steps.get_job(ref.queue, ref.id));
  if (job.record.lane >= Lane::done) return wrong_lane("cancel", job);
  if (job.record.lane == Lane::leased)
    SLUICE_TRY(add_attempt(steps, job, Outcome::cancelled, "cancelled"));
  SLUICE_TRY(leave(steps, job));
  return finish(steps, job, Lane::cancelled);
}

}  // namespace sluice::queue
