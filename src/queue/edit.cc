// SPDX-License-Identifier: MIT
#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

Status check(const EditRequest& request, Millis now) {
  if (!request.priority && !request.due && !request.payload)
    return error(Code::invalid_argument,
                 "there is nothing to edit: give a priority, due time or "
                 "payload");
  if (request.payload) SLUICE_TRY(check_payload(*request.payload));
  if (request.due && to_millis(*request.due) > now + to_millis(kDelayMax))
    return error(Code::invalid_argument, "the due time is more than ten years away");
  return {};
}

}  // namespace

Status edit(Steps& steps, const EditRequest& request) {
  SLUICE_TRY(check(request, steps.now()));
  SLUICE_LET(job, steps.get_job(request.queue, request.id));
  JobRecord& record = job.record;
  if (record.lane >= Lane::leased) return wrong_lane("edit", job);
  if (request.payload) replace_payload(steps, job, *request.payload);
  const Lane lane = record.lane;
  const Millis due = request.due ? std::max(to_millis(*request.due), steps.now()) : 0;
  const bool to_scheduled = lane == Lane::ready && due > steps.now();
  const bool replaced = lane == Lane::ready && (request.priority || to_scheduled);
  const bool retimed = lane == Lane::scheduled && request.due;
  if (replaced || retimed) SLUICE_TRY(leave(steps, job));
  if (request.priority) record.priority = *request.priority;
  if (request.due) record.due = due;
  if (to_scheduled || retimed) return enter(steps, job, Lane::scheduled);
  if (replaced) return enter(steps, job, Lane::ready, Place::fresh);
  rewrite(steps, job);
  return {};
}

}  // namespace sluice::queue
