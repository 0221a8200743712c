// SPDX-License-Identifier: MIT
#include "server/v1_json.h"

#include <cstdint>

#include "codec/base64.h"

namespace sluice::server {
namespace {

std::int64_t to_ms(Duration span) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

void put_text(Writer& writer, std::string_view name, const std::string& text) {
  if (!text.empty()) writer.name(name).string(text);
}

void put_time(Writer& writer, std::string_view name, const std::optional<WallTime>& time) {
  if (time) writer.name(name).number(to_ms(time->time_since_epoch()));
}

void put_payload(Writer& writer, const std::string& payload) {
  if (codec::json::parse(payload, {.any_numbers = true}))
    writer.name("payload").raw(payload);
  else
    writer.name("payload_base64").string(codec::to_base64(payload));
}

void put_retry(Writer& writer, const queue::RetryPolicy& retry) {
  writer.name("retry").object();
  writer.name("attempts_max").number(retry.attempts_max);
  writer.name("base_ms").number(to_ms(retry.base)).name("factor").number(retry.factor);
  writer.name("cap_ms").number(to_ms(retry.cap)).name("jitter").number(retry.jitter);
  writer.end_object();
}

template <class Number>
void put_optional(Writer& writer, std::string_view name, const std::optional<Number>& number) {
  writer.name(name);
  if (number)
    writer.number(*number);
  else
    writer.null();
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

std::int64_t to_ms(WallTime time) {
  return to_ms(time.time_since_epoch());
}

Result<std::optional<Duration>> optional_ms(const Fields& fields, std::string_view member) {
  constexpr auto kMost =
      std::chrono::duration_cast<std::chrono::milliseconds>(queue::kDelayMax).count();
  SLUICE_LET(ms, fields.optional_integer(member, 0, kMost));
  if (!ms) return std::optional<Duration>();
  return std::optional<Duration>(std::chrono::milliseconds(*ms));
}

void put(Writer& writer, const queue::Job& job) {
  writer.object();
  writer.name("queue").string(job.queue).name("id").string(job.id);
  put_text(writer, "group", job.group);
  writer.name("lane").string(queue::lane_name(job.lane));
  writer.name("priority").number(job.priority).name("attempts").number(job.attempts);
  writer.name("lapses").number(job.lapses);
  put_time(writer, "enqueued_at", job.enqueued);
  put_time(writer, "due_at", job.due);
  put_time(writer, "expires_at", job.expires);
  put_time(writer, "claimed_at", job.claimed);
  put_time(writer, "deadline_at", job.deadline);
  put_time(writer, "finished_at", job.finished);
  put_text(writer, "worker", job.worker);
  if (job.reason != queue::DeathReason::none)
    writer.name("reason").string(queue::reason_name(job.reason));
  put_text(writer, "error", job.error);
  put_text(writer, "progress", job.progress);
  put_text(writer, "result", job.result);
  put_text(writer, "unique", job.unique);
  put_text(writer, "batch", job.batch);
  put_text(writer, "schedule", job.schedule);
  put_time(writer, "planned_at", job.planned);
  if (job.retry) put_retry(writer, *job.retry);
  writer.name("payload_bytes").number(job.payload_bytes);
  if (job.payload) put_payload(writer, *job.payload);
  if (!job.history.empty()) {
    writer.name("history").array();
    for (const queue::Attempt& attempt : job.history) {
      writer.object().name("number").number(attempt.number);
      put_time(writer, "started_at", attempt.started);
      put_time(writer, "ended_at", attempt.ended);
      put_text(writer, "worker", attempt.worker);
      writer.name("outcome").string(queue::outcome_name(attempt.outcome));
      put_text(writer, "error", attempt.error);
      writer.end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

void put(Writer& writer, const queue::Lease& lease) {
  writer.object();
  writer.name("queue").string(lease.queue).name("id").string(lease.id);
  put_text(writer, "group", lease.group);
  writer.name("token").string(lease.token.to_string());
  writer.name("deadline_at").number(to_ms(lease.deadline));
  writer.name("attempt").number(lease.attempt).name("priority").number(lease.priority);
  put_text(writer, "batch", lease.batch);
  put_text(writer, "schedule", lease.schedule);
  put_time(writer, "planned_at", lease.planned);
  put_payload(writer, lease.payload);
  writer.end_object();
}

void put(Writer& writer, const queue::Counts& counts) {
  writer.object();
  for (std::size_t i = 1; i <= queue::kLaneCount; ++i) {
    const auto lane = static_cast<queue::Lane>(i);
    writer.name(queue::lane_name(lane)).number(counts.of(lane));
  }
  writer.end_object();
}

void put(Writer& writer, const queue::QueueConfig& config) {
  const bool for_ever = config.dead_retention == Duration::max();
  writer.object();
  writer.name("priority").number(config.priority).name("lease_ms").number(to_ms(config.lease));
  put_retry(writer, config.retry);
  writer.name("lapses_max").number(config.lapses_max);
  writer.name("done_retention_ms").number(to_ms(config.done_retention));
  put_optional(writer, "dead_retention_ms",
               for_ever ? std::optional<std::int64_t>() : to_ms(config.dead_retention));
  put_optional(writer, "active_max", config.active_max);
  put_optional(writer, "group_max", config.group_max);
  put_optional(writer, "backlog_max", config.backlog_max);
  writer.name("shards").number(config.shards);
  writer.name("fair").boolean(config.fair).name("events").boolean(config.events);
  writer.end_object();
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
  if (fields.has("retry")) {
    SLUICE_LET(retry, fields.object("retry"));
    SLUICE_LET(policy, parse_retry(retry, config.retry));
    config.retry = policy;
  }
  return config;
}

}  // namespace sluice::server
