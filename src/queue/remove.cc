// SPDX-License-Identifier: MIT
#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {

Status remove(Steps& steps, const JobRef& ref) {
  SLUICE_LET(job, steps.get_job(ref.queue, ref.id));
  if (job.record.lane < Lane::done) return wrong_lane("remove", job);
  return remove_finished(steps, job);
}

}  // namespace sluice::queue
