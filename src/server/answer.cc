// SPDX-License-Identifier: MIT
#include "server/answer.h"

#include <algorithm>
#include <chrono>

namespace sluice::server {

net::HttpResponse json_answer(std::string text) {
  return {.body = std::move(text)};
}

net::HttpResponse text_answer(unsigned status, std::string_view text) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::string(text) + "\n"};
}

net::HttpResponse failure_answer(const Status& status) {
  // What is well-formed and makes no sense has a status of its own with these clients.
  const bool senseless = status.code() == Code::invalid_argument;
  net::HttpResponse answer =
      text_answer(senseless ? 422 : static_cast<unsigned>(code_info(status.code()).http_status),
                  status.message());
  if (answer.status == 503) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

void put_failure(codec::json::Writer& writer, const Status& why) {
  const CodeInfo& info = code_info(why.code());
  writer.object().name("error").object();
  writer.name("code").string(info.name).name("message").string(why.message());
  writer.name("advice").string(info.advice).end_object().end_object();
}

net::HttpResponse v1_failure(const Status& why) {
  const CodeInfo& info = code_info(why.code());
  codec::json::Writer writer;
  put_failure(writer, why);
  net::HttpResponse answer = json_answer(writer.take());
  answer.status = static_cast<unsigned>(info.http_status);
  if (answer.status == 503 || answer.status == 429) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

net::HttpResponse failure_answer(std::string_view target, const Status& why) {
  return target.starts_with("/v1/") ? v1_failure(why) : failure_answer(why);
}

net::HttpResponse no_token_answer(std::string_view target) {
  net::HttpResponse answer = failure_answer(
      target, {Code::permission_denied, "a token is needed: Authorization: Bearer TOKEN"});
  answer.status = 401;
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

net::HttpResponse limited_answer(std::string_view target, Duration wait, std::string_view why) {
  net::HttpResponse answer = failure_answer(target, {Code::limit_exceeded, std::string(why)});
  std::erase_if(answer.headers, [](const auto& header) { return header.first == "Retry-After"; });
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  answer.headers.emplace_back("Retry-After", std::to_string(std::max<std::int64_t>(seconds, 1)));
  return answer;
}

}  // namespace sluice::server
