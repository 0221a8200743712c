// SPDX-License-Identifier: MIT
#include "server/v1.h"

#include "server/answer.h"

namespace sluice::server {

net::HttpResponse v1_failure(const Status& why) {
  const CodeInfo& info = code_info(why.code());
  codec::json::Writer writer;
  writer.object().name("error").object();
  writer.name("code").string(info.name).name("message").string(why.message());
  writer.name("advice").string(info.advice).end_object().end_object();
  net::HttpResponse answer = json_answer(writer.take());
  answer.status = static_cast<unsigned>(info.http_status);
  if (answer.status == 503 || answer.status == 429) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

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
  return key != nullptr ? std::string(*key) : std::string();
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
  routes.add("GET", "/v1/openapi.json",
             [](Call call) { call.exchange.reply(json_answer(std::string(openapi_text()))); });
}

}  // namespace sluice::server
