// SPDX-License-Identifier: MIT
// Where an HTTP request goes: http://host/path, https://host:8443/path?query, and Unix sockets.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::net {

inline constexpr std::size_t kUrlBytesMax = 16 * 1024;

struct HttpUrl {
  enum class Scheme : std::uint8_t { http, https, unix_socket };

  Scheme scheme = Scheme::http;
  std::string host = {};  ///< Lower case, IPv6 without brackets; of a Unix socket, its path.
  std::uint16_t port = 0;
  std::string target = {};  ///< Path and query as they stood; begins with '/'.

  /// "https://example.org:443", "http://[::1]:80", "unix:/run/sluiced.sock". Equal for URLs that
  /// the same connection serves; shows nothing of the target, which may hold secrets.
  std::string origin() const;
  /// What the Host field says: "example.org", "[::1]:8080"; "localhost" for a Unix socket.
  std::string host_field() const;
};

/// A Unix socket is written "unix:/run/sluiced.sock:/v1/queues": its path, which holds no colon,
/// then the target ("/" if there is none). A fragment is dropped. `invalid_argument` if the URL is
/// malformed, longer than kUrlBytesMax, names a user or another scheme, or holds anything but
/// printable ASCII: whoever builds it percent-encodes.
Result<HttpUrl> parse_http_url(std::string_view url);

}  // namespace sluice::net
