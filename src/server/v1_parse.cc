// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>

#include "codec/base64.h"
#include "server/v1_json.h"

namespace sluice::server {
namespace {

constexpr std::array kAfterPolicies = {queue::AfterPolicy::success, queue::AfterPolicy::end,
                                       queue::AfterPolicy::cancel};
constexpr std::array kUniquePolicies = {queue::UniquePolicy::reject, queue::UniquePolicy::keep,
                                        queue::UniquePolicy::replace};

Result<std::vector<queue::After>> parse_after(const Fields& fields) {
  std::vector<queue::After> after;
  if (!fields.has("after")) return after;
  SLUICE_LET(items, fields.objects("after"));
  if (items.size() > queue::kAfterMax)
    return error(Code::invalid_argument,
                 "after must have 0 to " + std::to_string(queue::kAfterMax) + " members");
  for (const Fields& item : items) {
    SLUICE_LET(queue, item.optional_name("queue"));
    SLUICE_LET(id, item.name("id"));
    SLUICE_LET(wanted, item.optional_text("policy"));
    const auto policy =
        std::ranges::find(kAfterPolicies, wanted.value_or("success"), queue::policy_name);
    if (policy == kAfterPolicies.end())
      return error(Code::invalid_argument, "after.policy must be success, end or cancel");
    after.push_back({.queue = queue.value_or(""), .id = std::move(id), .policy = *policy});
  }
  return after;
}

Result<std::vector<queue::Lane>> parse_lanes(const Fields& fields) {
  std::vector<queue::Lane> lanes = queue::Unique().lanes;
  if (!fields.has("lanes")) return lanes;
  SLUICE_LET(names, fields.names("lanes"));
  lanes.clear();
  for (const std::string& name : names) {
    const auto lane = queue::lane_from_name(name);
    if (!lane) return error(Code::invalid_argument, "unique.lanes: there is no lane " + name);
    lanes.push_back(*lane);
  }
  return lanes;
}

Result<queue::Unique> parse_unique(const Fields& fields) {
  SLUICE_LET(key, fields.name("key"));
  SLUICE_LET(lanes, parse_lanes(fields));
  SLUICE_LET(window, optional_ms(fields, "window_ms"));
  SLUICE_LET(wanted, fields.optional_text("policy"));
  const auto policy =
      std::ranges::find(kUniquePolicies, wanted.value_or("reject"), unique_policy_name);
  if (policy == kUniquePolicies.end())
    return error(Code::invalid_argument, "unique.policy must be reject, keep or replace");
  return queue::Unique{.key = std::move(key),
                       .lanes = std::move(lanes),
                       .window = window.value_or(Duration{}),
                       .policy = *policy};
}

Result<std::vector<queue::Label>> parse_labels(const Fields& fields) {
  std::vector<queue::Label> labels;
  SLUICE_LET(items, fields.objects("labels"));
  for (const Fields& item : items) {
    SLUICE_LET(name, item.name("name"));
    SLUICE_LET(priority, item.integer("priority", INT32_MIN, INT32_MAX));
    labels.push_back({.name = std::move(name), .priority = static_cast<std::int32_t>(priority)});
  }
  return labels;
}

Result<queue::Rate> parse_rate(const Fields& fields) {
  SLUICE_LET(jobs, fields.integer("jobs", 1));
  SLUICE_LET(per, optional_ms(fields, "per_ms"));
  SLUICE_LET(burst, fields.optional_integer("burst", 1));
  return queue::Rate{.jobs = static_cast<std::uint64_t>(jobs),
                     .per = per.value_or(std::chrono::seconds(1)),
                     .burst = static_cast<std::uint64_t>(burst.value_or(jobs))};
}

Result<queue::RetryPolicy> parse_retry(const Fields& fields, queue::RetryPolicy retry) {
  SLUICE_LET(attempts, fields.optional_integer("attempts_max", 1, queue::kAttemptsMax));
  SLUICE_LET(base, optional_ms(fields, "base_ms"));
  SLUICE_LET(factor, fields.optional_real("factor"));
  SLUICE_LET(cap, optional_ms(fields, "cap_ms"));
  SLUICE_LET(jitter, fields.optional_real("jitter"));
  if (attempts) retry.attempts_max = static_cast<std::uint32_t>(*attempts);
  retry.base = base.value_or(retry.base);
  retry.factor = factor.value_or(retry.factor);
  retry.cap = cap.value_or(retry.cap);
  retry.jitter = jitter.value_or(retry.jitter);
  return retry;
}

/// A limit: null takes it away, a number sets it, nothing leaves it.
template <class Number>
Status parse_limit(const Fields& fields, std::string_view member, bool named, std::int64_t most,
                   std::optional<Number>& limit) {
  SLUICE_LET(number, fields.optional_integer(member, 0, most));
  if (number)
    limit = static_cast<Number>(*number);
  else if (named)
    limit.reset();
  return {};
}

}  // namespace

Result<std::optional<Duration>> optional_ms(const Fields& fields, std::string_view member) {
  constexpr auto kMost =
      std::chrono::duration_cast<std::chrono::milliseconds>(queue::kDelayMax).count();
  SLUICE_LET(ms, fields.optional_integer(member, 0, kMost));
  if (!ms) return std::optional<Duration>();
  return std::optional<Duration>(std::chrono::milliseconds(*ms));
}

Result<std::string> parse_payload(const Fields& fields) {
  if (!fields.has("payload_base64")) {
    const auto raw = fields.raw("payload");
    return raw ? std::string(*raw) : std::string();
  }
  SLUICE_LET(text, fields.text("payload_base64"));
  auto bytes = codec::from_base64(text);
  if (bytes) return std::move(*bytes);
  return error(Code::invalid_argument, "payload_base64 must be base64, with padding");
}

Result<queue::NewJob> parse_new_job(const Fields& fields, const std::string& queue) {
  queue::NewJob job{.queue = queue};
  SLUICE_LET(id, fields.optional_name("id"));
  SLUICE_LET(group, fields.optional_name("group"));
  SLUICE_LET(payload, parse_payload(fields));
  SLUICE_LET(priority, fields.optional_integer("priority", INT32_MIN, INT32_MAX));
  SLUICE_LET(label, fields.optional_name("label"));
  SLUICE_LET(delay, optional_ms(fields, "delay_ms"));
  SLUICE_LET(due, fields.optional_integer("due_at", 0, INT64_MAX / 1'000'000));
  SLUICE_LET(ttl, optional_ms(fields, "ttl_ms"));
  SLUICE_LET(hold, fields.boolean_or("hold", false));
  SLUICE_LET(batch, fields.optional_name("batch"));
  SLUICE_LET(after, parse_after(fields));
  job.id = id.value_or("");
  job.group = group.value_or("");
  job.payload = std::move(payload);
  if (priority) job.priority = static_cast<std::int32_t>(*priority);
  job.label = label.value_or("");
  job.delay = delay.value_or(Duration{});
  if (due) job.due = WallTime(std::chrono::milliseconds(*due));
  job.ttl = ttl.value_or(Duration{});
  job.hold = hold;
  job.batch = batch.value_or("");
  job.after = std::move(after);
  if (fields.has("unique")) {
    SLUICE_LET(members, fields.object("unique"));
    SLUICE_LET(unique, parse_unique(members));
    job.unique = std::move(unique);
  }
  if (fields.has("retry")) {
    SLUICE_LET(retry, fields.object("retry"));
    SLUICE_LET(policy, parse_retry(retry, {}));
    job.retry = policy;
  }
  return job;
}

Result<queue::QueueConfig> parse_config(const Fields& fields, queue::QueueConfig config) {
  SLUICE_LET(priority, fields.optional_integer("priority", INT32_MIN, INT32_MAX));
  SLUICE_LET(lease, optional_ms(fields, "lease_ms"));
  SLUICE_LET(lapses, fields.optional_integer("lapses_max", 1, queue::kAttemptsMax));
  SLUICE_LET(done, optional_ms(fields, "done_retention_ms"));
  SLUICE_LET(dead, optional_ms(fields, "dead_retention_ms"));
  SLUICE_LET(shards, fields.optional_integer("shards", 1, UINT32_MAX));
  SLUICE_LET(fair, fields.boolean_or("fair", config.fair));
  SLUICE_LET(events, fields.boolean_or("events", config.events));
  SLUICE_TRY(parse_limit(fields, "active_max", fields.names_it("active_max"), UINT32_MAX,
                         config.active_max));
  SLUICE_TRY(
      parse_limit(fields, "group_max", fields.names_it("group_max"), UINT32_MAX, config.group_max));
  SLUICE_TRY(parse_limit(fields, "backlog_max", fields.names_it("backlog_max"), INT64_MAX,
                         config.backlog_max));
  if (priority) config.priority = static_cast<std::int32_t>(*priority);
  config.lease = lease.value_or(config.lease);
  if (lapses) config.lapses_max = static_cast<std::uint32_t>(*lapses);
  config.done_retention = done.value_or(config.done_retention);
  if (dead)
    config.dead_retention = *dead;
  else if (fields.names_it("dead_retention_ms"))
    config.dead_retention = Duration::max();
  if (shards) config.shards = static_cast<std::uint32_t>(*shards);
  config.fair = fair;
  config.events = events;
  if (fields.has("labels")) {
    SLUICE_LET(labels, parse_labels(fields));
    config.labels = std::move(labels);
  }
  if (fields.has("rate")) {
    SLUICE_LET(members, fields.object("rate"));
    SLUICE_LET(rate, parse_rate(members));
    config.rate = rate;
  } else if (fields.names_it("rate")) {
    config.rate.reset();
  }
  if (fields.has("retry")) {
    SLUICE_LET(retry, fields.object("retry"));
    SLUICE_LET(policy, parse_retry(retry, config.retry));
    config.retry = policy;
  }
  return config;
}

}  // namespace sluice::server
