// SPDX-License-Identifier: MIT
// What is taken for a URL can be written down again and means the same, and nothing of it ends the
// line of a request.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/http_url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace net = sluice::net;
  const auto url = net::parse_http_url({reinterpret_cast<const char*>(data), size});
  if (!url) {
    SLUICE_CHECK(url.error().code() == sluice::Code::invalid_argument);
    return 0;
  }
  SLUICE_CHECK(url->target.starts_with('/'));
  for (const std::string& part : {url->target, url->host_field(), url->origin()})
    SLUICE_CHECK(std::ranges::all_of(part, [](char c) { return c > ' ' && c < '\x7f'; }));
  const bool local = url->scheme == net::HttpUrl::Scheme::unix_socket;
  const auto again = net::parse_http_url(url->origin() + (local ? ":" : "") + url->target);
  // The port that was left out may make it too long.
  if (!again && size + 10 > net::kUrlBytesMax) return 0;
  SLUICE_CHECK(again && again->origin() == url->origin() && again->target == url->target);
  return 0;
}
