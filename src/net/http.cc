// SPDX-License-Identifier: MIT
#include "net/http.h"

#include "base/check.h"

namespace sluice::net {
namespace {

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

void append_field(std::string& head, std::string_view name, std::string_view value) {
  SLUICE_CHECK(is_one_line(name) && is_one_line(value));
  head.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "";
  }
}

std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view date) {
  std::string head;
  head.reserve(256);
  head.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  head.append(reason_of(response.status)).append("\r\n");
  append_field(head, "Date", date);
  if (!response.content_type.empty()) append_field(head, "Content-Type", response.content_type);
  if (!response.more) append_field(head, "Content-Length", std::to_string(response.body.size()));
  for (const auto& [name, value] : response.headers) append_field(head, name, value);
  append_field(head, "Connection", keep_alive ? "keep-alive" : "close");
  return head.append("\r\n");
}

Exchange::~Exchange() {
  if (channel_) reply({.status = 500, .content_type = "text/plain", .body = "no answer\n"});
}

void Exchange::reply(HttpResponse response) {
  SLUICE_CHECK(channel_ != nullptr);
  std::shared_ptr<Channel> channel = std::exchange(channel_, nullptr);
  Channel& answering = *channel;
  answering.answer(std::move(channel), std::move(response));
}

}  // namespace sluice::net
