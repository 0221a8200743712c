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

unsigned http_status_of(Code code) {
  switch (code) {
    case Code::ok:
      return 200;
    case Code::invalid_argument:
      return 422;
    case Code::not_found:
      return 404;
    case Code::already_exists:
    case Code::conflict:
    case Code::lease_lost:
      return 409;
    case Code::limit_exceeded:
      return 429;
    case Code::permission_denied:
      return 403;
    case Code::storage_full:
      return 507;
    case Code::unavailable:
    case Code::commit_unknown:
      return 503;
    default:
      return 500;
  }
}

net::HttpResponse failure_answer(const Status& status) {
  net::HttpResponse answer = text_answer(http_status_of(status.code()), status.message());
  if (answer.status == 503) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

}  // namespace sluice::server
