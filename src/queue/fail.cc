// SPDX-License-Identifier: MIT
#include <sluice/backoff.h>
#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/names.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

Millis backoff(Steps& steps, const RetryPolicy& policy, std::uint32_t attempts) {
  const BackoffPolicy shape{
      .base = policy.base, .factor = policy.factor, .cap = policy.cap, .jitter = policy.jitter};
  const double unit = policy.jitter > 0 ? steps.shared().draw_unit() : 0;
  return to_millis(backoff_delay(shape, attempts, unit));
}

}  // namespace

Status fail(Steps& steps, const FailRequest& request) {
  if (request.delay) SLUICE_TRY(check_duration("the delay", *request.delay, {}, kDelayMax));
  SLUICE_LET(job, get_leased(steps, request.queue, request.token));
  JobRecord& record = job.record;
  const RetryPolicy policy = record.retry.value_or(job.queue->config().retry);
  record.error = cut_text(request.error, kTextBytesMax);
  SLUICE_TRY(add_attempt(steps, job, Outcome::failed, record.error));
  SLUICE_TRY(leave(steps, job));
  if (request.dead || record.attempts >= policy.attempts_max) {
    record.reason = request.dead ? DeathReason::refused : DeathReason::attempts;
    return finish(steps, job, Lane::dead);
  }
  const Millis delay = request.delay ? to_millis(*request.delay)
                                     : backoff(steps, policy, std::max(record.attempts, 1U));
  record.due = steps.now() + delay;
  return enter(steps, job, Lane::scheduled);
}

}  // namespace sluice::queue
