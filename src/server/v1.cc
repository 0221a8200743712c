// SPDX-License-Identifier: MIT
#include "server/v1.h"

#include "queue/names.h"
#include "server/answer.h"

namespace sluice::server {

void refuse_v1(Call& call, const Status& why) {
  call.exchange.reply(v1_failure(why));
}

std::optional<codec::json::Value> read_v1_body(Call& call, std::string_view raw) {
  auto body = codec::json::parse(call.request().body, {.raw = raw, .round_integers = true});
  if (body) return std::move(*body);
  refuse_v1(call, body.error().with("the body is not JSON"));
  return {};
}

std::string operation_of(const Call& call) {
  const std::string_view* key = call.request().head.find("idempotency-key");
  if (key == nullptr) return {};
  // One that is no name is refused as it is.
  if (!call.grant || !queue::check_name("key", *key).ok()) return std::string(*key);
  // Of this token alone: nobody gets the answer to another one's call.
  return queue::to_hex(hash_of_secret(call.grant->token().name + '\0' + std::string(*key)));
}

Status check_job(const Call& call, const queue::NewJob& job) {
  SLUICE_TRY(call.check(May::enqueue, job.queue));
  for (const queue::After& other : job.after)
    SLUICE_TRY(call.check(May::enqueue, other.queue.empty() ? job.queue : other.queue));
  return {};
}

std::string query_text(const Call& call, std::string_view name) {
  const auto found = call.query.find(name);
  return found == call.query.end() ? std::string() : found->second;
}

Result<std::size_t> limit_of(const Call& call) {
  const auto found = call.query.find("limit");
  SLUICE_LET(limit, parse_query_number("limit",
                                       found == call.query.end() ? nullptr : &found->second, 100));
  if (limit >= 1 && limit <= queue::kPageMax) return std::size_t{limit};
  return error(Code::invalid_argument, "limit must be a whole number from 1 to 1000");
}

void V1::add_to(Routes& routes) {
  add_jobs(routes);
  add_leases(routes);
  add_queues(routes);
  add_flows(routes);
  routes.add("GET", "/v1/openapi.json", kOpen,
             [](Call call) { call.exchange.reply(json_answer(std::string(openapi_text()))); });
}

}  // namespace sluice::server
