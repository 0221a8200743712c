// SPDX-License-Identifier: MIT
#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {

Status remove(Steps& steps, const JobRef& ref) {
  SLUICE_LET(job, steps.get_job(ref.queue, ref.id));
  if (job.record.lane < Lane::done) return wrong_lane("remove", job);
  SLUICE_TRY(leave(steps, job));
  erase_job(steps, job);
  return {};
}

}  // namespace sluice::queue
