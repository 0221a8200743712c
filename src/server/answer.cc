// SPDX-License-Identifier: MIT
#include "server/answer.h"

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

}  // namespace sluice::server
