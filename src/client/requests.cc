// SPDX-License-Identifier: MIT
#include "client/requests.h"

#include <sluice/client.h>

#include <chrono>
#include <cstdint>

#include "codec/base64.h"
#include "codec/json.h"
#include "codec/percent.h"

namespace sluice::client {
namespace {

using codec::json::Writer;

// Of a payload that goes as JSON. The service reads 64 levels, some of which are around it.
constexpr std::size_t kDepthMax = 60;

std::int64_t to_ms(Duration span) {
  return std::chrono::ceil<std::chrono::milliseconds>(span).count();
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = codec::json::utf8_character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

/// A writer would put something else in the place of what is no UTF-8.
Status check_text(std::string_view what, std::string_view text) {
  if (is_utf8(text)) return {};
  return error(Code::invalid_argument, std::string(what) + " must be UTF-8");
}

/// The service says what else is wrong with a name; an empty one would name another path.
Status check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return error(Code::invalid_argument, "a " + std::string(what) + " is missing");
  return check_text(what, name);
}

Status put_text(Writer& writer, std::string_view member, std::string_view text) {
  if (text.empty()) return {};
  SLUICE_TRY(check_text(member, text));
  writer.name(member).string(text);
  return {};
}

Status put_names(Writer& writer, std::string_view member, const std::vector<std::string>& names) {
  writer.name(member).array();
  for (const std::string& name : names) {
    SLUICE_TRY(check_text(member, name));
    writer.string(name);
  }
  writer.end_array();
  return {};
}

/// Whether it is the text of exactly one value, with nothing around it.
bool is_json(const std::string& payload) {
  const std::string text = "{\"payload\":" + payload + "}";
  const auto parsed = codec::json::parse(text, {.depth_max = kDepthMax, .raw = "payload"});
  if (!parsed) return false;
  const codec::json::Value* const member = parsed->find("payload");
  const auto* const raw = member != nullptr ? member->as<codec::json::Raw>() : nullptr;
  return raw != nullptr && raw->text == payload;
}

void put_payload(Writer& writer, const std::string& payload) {
  if (payload.empty()) return;
  if (is_json(payload))
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

/// The members of a job, without the braces around them.
Status put_job(Writer& writer, const queue::NewJob& job) {
  if (job.unique || !job.after.empty())
    return error(Code::invalid_argument,
                 "over HTTP a job has neither a unique key nor other jobs to wait for: leave out "
                 "'unique' and 'after'");
  SLUICE_TRY(put_text(writer, "id", job.id));
  SLUICE_TRY(put_text(writer, "group", job.group));
  put_payload(writer, job.payload);
  if (job.priority) writer.name("priority").number(*job.priority);
  SLUICE_TRY(put_text(writer, "label", job.label));
  if (job.delay != Duration()) writer.name("delay_ms").number(to_ms(job.delay));
  if (job.due) writer.name("due_at").number(to_ms(job.due->time_since_epoch()));
  if (job.ttl != Duration()) writer.name("ttl_ms").number(to_ms(job.ttl));
  if (job.hold) writer.name("hold").boolean(true);
  SLUICE_TRY(put_text(writer, "batch", job.batch));
  if (job.retry) put_retry(writer, *job.retry);
  return {};
}

Status put_held(Writer& writer, std::string_view queue, const queue::Token& token) {
  SLUICE_TRY(check_name("queue", queue));
  writer.object().name("queue").string(queue).name("token").string(token.to_string());
  return {};
}

}  // namespace

Result<std::string> queue_path(std::string_view queue, std::string_view more) {
  SLUICE_TRY(check_name("queue", queue));
  return "/v1/queues/" + codec::percent_encode(queue) + std::string(more);
}

Result<std::string> job_path(std::string_view queue, std::string_view id, std::string_view more) {
  SLUICE_TRY(check_name("id", id));
  return queue_path(queue, "/jobs/" + codec::percent_encode(id) + std::string(more));
}

Result<std::string> job_text(const queue::NewJob& job) {
  Writer writer;
  writer.object();
  SLUICE_TRY(put_job(writer, job));
  return writer.end_object().take();
}

JobsPart first_part(std::span<const queue::NewJob> jobs) {
  JobsPart part;
  std::string list;
  for (const queue::NewJob& job : jobs) {
    if (part.count == kRequestJobsMax || job.queue != jobs[0].queue) break;
    const auto one = job_text(job);
    if (!one && part.count == 0) return {.count = 1, .body = one};
    if (!one) break;
    if (part.count > 0 && list.size() + one->size() >= kRequestBytesMax) break;
    list.append(part.count > 0 ? "," : "").append(*one);
    ++part.count;
  }
  part.body = "{\"jobs\":[" + list + "]}";
  return part;
}

Result<std::string> claim_text(const queue::ClaimRequest& request, Duration wait) {
  Writer writer;
  writer.object();
  SLUICE_TRY(put_names(writer, "queues", request.queues));
  writer.name("max").number(request.jobs_max);
  if (request.lease) writer.name("lease_ms").number(to_ms(*request.lease));
  SLUICE_TRY(put_text(writer, "worker", request.worker));
  SLUICE_TRY(put_names(writer, "skip_groups", request.skip_groups));
  writer.name("wait_ms").number(to_ms(wait));
  return writer.end_object().take();
}

Result<std::string> ack_text(const queue::AckRequest& request) {
  Writer writer;
  SLUICE_TRY(put_held(writer, request.queue, request.token));
  SLUICE_TRY(put_text(writer, "result", request.result));
  if (!request.children.empty()) {
    writer.name("children").array();
    for (const queue::NewJob& child : request.children) {
      writer.object();
      SLUICE_TRY(put_text(writer, "queue", child.queue));
      SLUICE_TRY(put_job(writer, child));
      writer.end_object();
    }
    writer.end_array();
  }
  return writer.end_object().take();
}

Result<std::string> fail_text(const queue::FailRequest& request) {
  Writer writer;
  SLUICE_TRY(put_held(writer, request.queue, request.token));
  writer.name("error").string(request.error);
  if (request.delay) writer.name("delay_ms").number(to_ms(*request.delay));
  if (request.dead) writer.name("dead").boolean(true);
  return writer.end_object().take();
}

Result<std::string> release_text(const queue::ReleaseRequest& request) {
  Writer writer;
  SLUICE_TRY(put_held(writer, request.queue, request.token));
  if (request.delay != Duration()) writer.name("delay_ms").number(to_ms(request.delay));
  return writer.end_object().take();
}

Result<std::string> extend_text(const queue::ExtendRequest& request) {
  Writer writer;
  SLUICE_TRY(put_held(writer, request.queue, request.token));
  if (request.lease) writer.name("lease_ms").number(to_ms(*request.lease));
  if (request.progress) writer.name("progress").string(*request.progress);
  return writer.end_object().take();
}

}  // namespace sluice::client
