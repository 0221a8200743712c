// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {

Failure wrong_lane(std::string_view verb, const JobState& job) {
  return error(Code::conflict, fmt::format("job \"{}\" is {}: {} is not for that lane",
                                           job.record.id, lane_name(job.record.lane), verb));
}

Status hold(Steps& steps, const JobRef& ref) {
  SLUICE_LET(job, steps.get_job(ref.queue, ref.id));
  const Lane lane = job.record.lane;
  if (lane != Lane::waiting && lane != Lane::scheduled && lane != Lane::ready)
    return wrong_lane("hold", job);
  SLUICE_TRY(leave(steps, job));
  return enter(steps, job, Lane::held);
}

Status unhold(Steps& steps, const JobRef& ref) {
  SLUICE_LET(job, steps.get_job(ref.queue, ref.id));
  if (job.record.lane != Lane::held) return wrong_lane("unhold", job);
  SLUICE_TRY(leave(steps, job));
  if (job.record.waits) return enter(steps, job, Lane::waiting);
  if (job.record.due > steps.now()) return enter(steps, job, Lane::scheduled);
  return enter(steps, job, Lane::ready, Place::fresh);
}

}  // namespace sluice::queue
