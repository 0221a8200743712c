// SPDX-License-Identifier: MIT
// Whatever our parser and another one accept, both mean the same by it: where they differ is where
// requests are smuggled.
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/http_head.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace http = boost::beast::http;
  namespace net = sluice::net;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t bytes = net::head_bytes(text);
  for (std::size_t cut = 0; cut < size && cut < 64; ++cut) {
    // However much was looked at before, the end is found at the same place.
    const std::size_t before = net::head_bytes(text.substr(0, cut));
    if (before == 0) SLUICE_CHECK(net::head_bytes(text, cut) == bytes);
  }
  if (bytes == 0) return 0;
  const std::string_view head = text.substr(0, bytes);
  const auto ours = net::parse_request_head(head);
  [[maybe_unused]] const auto answer = net::parse_response_head(head);
  if (!ours) {
    SLUICE_CHECK(ours.error().status >= 400 && !ours.error().why.empty());
    return 0;
  }
  http::request_parser<http::string_body> theirs;
  theirs.header_limit(1U << 20);
  theirs.body_limit(boost::none);
  theirs.skip(true);
  boost::system::error_code problem;
  theirs.put(boost::asio::buffer(head.data(), head.size()), problem);
  if (problem && problem != http::error::need_more) return 0;  // As for what it calls no token.
  SLUICE_CHECK(theirs.is_header_done());
  const auto& message = theirs.get();
  SLUICE_CHECK(std::string_view(message.method_string()) == ours->method);
  SLUICE_CHECK(std::string_view(message.target()) == ours->target);
  SLUICE_CHECK(theirs.chunked() == ours->chunked);
  SLUICE_CHECK(theirs.content_length().has_value() == ours->has_length);
  if (ours->has_length) SLUICE_CHECK(*theirs.content_length() == ours->body_bytes);
  SLUICE_CHECK(static_cast<std::size_t>(std::distance(message.begin(), message.end())) ==
               ours->headers.size());
  return 0;
}
