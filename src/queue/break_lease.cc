// SPDX-License-Identifier: MIT
#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {

Status break_lease(Steps& steps, const JobRef& ref) {
  SLUICE_LET(job, steps.get_job(ref.queue, ref.id));
  if (job.record.lane != Lane::leased) return wrong_lane("break_lease", job);
  SLUICE_TRY(add_attempt(steps, job, Outcome::broken, "the lease was broken by an operator"));
  SLUICE_TRY(leave(steps, job));
  return enter(steps, job, Lane::ready);
}

}  // namespace sluice::queue
