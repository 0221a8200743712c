// SPDX-License-Identifier: MIT
#include "queue/checks.h"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include <sluice/backoff.h>
#include <sluice/token_bucket.h>
#include "queue/names.h"

namespace sluice::queue {
namespace {

constexpr double kFactorMax = 1000;
constexpr Duration kRetentionMax = kDelayMax;

Failure refuse(std::string message) {
  return error(Code::invalid_argument, std::move(message));
}

std::string in_ms(Duration duration) {
  return fmt::format("{} ms",
                     std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

Status check_range(std::string_view what, std::uint64_t value, std::uint64_t least,
                   std::uint64_t most) {
  if (least <= value && value <= most) return {};
  return refuse(fmt::format("{} is {}: {} to {} is allowed", what, value, least, most));
}

Status check_labels(const std::vector<Label>& labels) {
  SLUICE_TRY(check_range("the number of labels", labels.size(), 0, kLabelsMax));
  std::set<std::string_view> names;
  for (const auto& label : labels) {
    SLUICE_TRY(check_name("label", label.name));
    if (!names.insert(label.name).second)
      return refuse(fmt::format("the label \"{}\" is there twice", label.name));
  }
  return {};
}

Status check_rate(const Rate& rate) {
  return validate(BucketLimit{.tokens = rate.jobs, .per = rate.per, .burst = rate.burst})
      .with("rate");
}

Status check_unique(const Unique& unique) {
  SLUICE_TRY(check_name("unique key", unique.key));
  SLUICE_TRY(check_duration("the unique key's window", unique.window, {}, kDelayMax));
  if (unique.lanes.empty() && unique.window == Duration{})
    return refuse("a unique key needs lanes or a window, or nobody ever holds it");
  return {};
}

}  // namespace

Status check_duration(std::string_view what, Duration value, Duration least, Duration most) {
  if (least <= value && value <= most) return {};
  return refuse(
      fmt::format("{} is {}: {} to {} is allowed", what, in_ms(value), in_ms(least), in_ms(most)));
}

Status check_lease(Duration lease) {
  return check_duration("the lease", lease, kLeaseMin, kLeaseMax);
}

Status check_retry(const RetryPolicy& policy) {
  SLUICE_TRY(check_range("attempts_max", policy.attempts_max, 1, kAttemptsMax));
  SLUICE_TRY(check_duration("the retry base", policy.base, {}, kDelayMax));
  SLUICE_TRY(check_duration("the retry cap", policy.cap, {}, kDelayMax));
  if (policy.factor > kFactorMax)
    return refuse(fmt::format("the retry factor is {}: {} is the most", policy.factor, kFactorMax));
  return validate(BackoffPolicy{.base = policy.base,
                                .factor = policy.factor,
                                .cap = policy.cap,
                                .jitter = policy.jitter})
      .with("retry");
}

Status check_config(const QueueConfig& config) {
  SLUICE_TRY(check_labels(config.labels));
  SLUICE_TRY(check_lease(config.lease));
  SLUICE_TRY(check_retry(config.retry));
  SLUICE_TRY(check_range("lapses_max", config.lapses_max, 1, kAttemptsMax));
  SLUICE_TRY(check_duration("done_retention", config.done_retention, {}, kRetentionMax));
  if (config.dead_retention != Duration::max())
    SLUICE_TRY(check_duration("dead_retention", config.dead_retention, {}, kRetentionMax));
  if (config.active_max) SLUICE_TRY(check_range("active_max", *config.active_max, 0, kActiveMax));
  if (config.rate) SLUICE_TRY(check_rate(*config.rate));
  return check_range("shards", config.shards, 1, kShardsMax);
}

Status check_payload(std::string_view payload) {
  if (payload.size() <= kPayloadBytesMax) return {};
  return refuse(
      fmt::format("the payload has {} bytes: {} is the most; store it elsewhere and "
                  "enqueue where it is",
                  payload.size(), kPayloadBytesMax));
}

Status check_template(const NewJob& job) {
  if (job.payload.size() <= kTemplateBytesMax) return {};
  return refuse(
      fmt::format("the payload has {} bytes: {} is the most for a job that is kept for "
                  "later",
                  job.payload.size(), kTemplateBytesMax));
}

Status check_new_job(const NewJob& job) {
  SLUICE_TRY(check_name("queue name", job.queue));
  SLUICE_TRY(check_name_or_empty("job id", job.id));
  SLUICE_TRY(check_name_or_empty("group name", job.group));
  SLUICE_TRY(check_payload(job.payload));
  if (job.priority && !job.label.empty()) return refuse("give a priority or a label, not both");
  if (job.due && job.delay != Duration{}) return refuse("give a delay or a due time, not both");
  SLUICE_TRY(check_duration("the delay", job.delay, {}, kDelayMax));
  SLUICE_TRY(check_duration("the ttl", job.ttl, {}, kDelayMax));
  SLUICE_TRY(check_name_or_empty("batch id", job.batch));
  if (job.unique) SLUICE_TRY(check_unique(*job.unique));
  return job.retry ? check_retry(*job.retry) : Status();
}

Status check_claim(const ClaimRequest& request) {
  SLUICE_TRY(check_range("the number of queues", request.queues.size(), 1, kClaimQueuesMax));
  std::set<std::string_view> names;
  for (const auto& name : request.queues) {
    SLUICE_TRY(check_name("queue name", name));
    if (!names.insert(name).second)
      return refuse(fmt::format("the queue \"{}\" is named twice", name));
  }
  SLUICE_TRY(check_range("jobs_max", request.jobs_max, 1, kClaimJobsMax));
  SLUICE_TRY(check_name_or_empty("worker name", request.worker));
  SLUICE_TRY(
      check_range("the number of skipped groups", request.skip_groups.size(), 0, kSkipGroupsMax));
  for (const auto& group : request.skip_groups) SLUICE_TRY(check_name("group name", group));
  if (request.wait < Duration{}) return refuse("the wait is negative");
  return request.lease ? check_lease(*request.lease) : Status();
}

Status check_page(std::size_t limit) {
  return check_range("the page's limit", limit, 1, kPageMax);
}

}  // namespace sluice::queue
