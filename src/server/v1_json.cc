// SPDX-License-Identifier: MIT
#include "server/v1_json.h"

#include <cstdint>

#include "codec/base64.h"

namespace sluice::server {
namespace {

std::int64_t span_ms(Duration span) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

void put_text(Writer& writer, std::string_view name, const std::string& text) {
  if (!text.empty()) writer.name(name).string(text);
}

void put_time(Writer& writer, std::string_view name, const std::optional<WallTime>& time) {
  if (time) writer.name(name).number(span_ms(time->time_since_epoch()));
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
  writer.name("base_ms").number(span_ms(retry.base)).name("factor").number(retry.factor);
  writer.name("cap_ms").number(span_ms(retry.cap)).name("jitter").number(retry.jitter);
  writer.end_object();
}

void put_after(Writer& writer, const std::vector<queue::After>& after) {
  writer.name("after").array();
  for (const queue::After& other : after) {
    writer.object();
    put_text(writer, "queue", other.queue);
    writer.name("id").string(other.id);
    writer.name("policy").string(queue::policy_name(other.policy)).end_object();
  }
  writer.end_array();
}

void put_unique(Writer& writer, const queue::Unique& unique) {
  writer.name("unique").object().name("key").string(unique.key).name("lanes").array();
  for (const queue::Lane lane : unique.lanes) writer.string(queue::lane_name(lane));
  writer.end_array().name("window_ms").number(span_ms(unique.window));
  writer.name("policy").string(unique_policy_name(unique.policy)).end_object();
}

template <class Number>
void put_optional(Writer& writer, std::string_view name, const std::optional<Number>& number) {
  writer.name(name);
  if (number)
    writer.number(*number);
  else
    writer.null();
}

}  // namespace

std::int64_t to_ms(WallTime time) {
  return span_ms(time.time_since_epoch());
}

std::string_view unique_policy_name(queue::UniquePolicy policy) {
  if (policy == queue::UniquePolicy::keep) return "keep";
  return policy == queue::UniquePolicy::replace ? "replace" : "reject";
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
  if (!job.after.empty()) put_after(writer, job.after);
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

void put(Writer& writer, const queue::NewJob& job) {
  writer.object();
  put_text(writer, "queue", job.queue);
  put_text(writer, "id", job.id);
  put_text(writer, "group", job.group);
  if (job.priority) writer.name("priority").number(*job.priority);
  put_text(writer, "label", job.label);
  if (job.ttl != Duration{}) writer.name("ttl_ms").number(span_ms(job.ttl));
  if (job.hold) writer.name("hold").boolean(true);
  if (job.retry) put_retry(writer, *job.retry);
  if (job.unique) put_unique(writer, *job.unique);
  if (!job.payload.empty()) put_payload(writer, job.payload);
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
  writer.name("priority").number(config.priority).name("lease_ms").number(span_ms(config.lease));
  put_retry(writer, config.retry);
  writer.name("lapses_max").number(config.lapses_max);
  writer.name("done_retention_ms").number(span_ms(config.done_retention));
  put_optional(writer, "dead_retention_ms",
               for_ever ? std::optional<std::int64_t>() : span_ms(config.dead_retention));
  put_optional(writer, "active_max", config.active_max);
  put_optional(writer, "group_max", config.group_max);
  put_optional(writer, "backlog_max", config.backlog_max);
  writer.name("rate");
  if (config.rate) {
    writer.object().name("jobs").number(config.rate->jobs);
    writer.name("per_ms").number(span_ms(config.rate->per));
    writer.name("burst").number(config.rate->burst).end_object();
  } else {
    writer.null();
  }
  writer.name("labels").array();
  for (const queue::Label& label : config.labels)
    writer.object()
        .name("name")
        .string(label.name)
        .name("priority")
        .number(label.priority)
        .end_object();
  writer.end_array();
  writer.name("shards").number(config.shards);
  writer.name("fair").boolean(config.fair).name("events").boolean(config.events);
  writer.end_object();
}

}  // namespace sluice::server
