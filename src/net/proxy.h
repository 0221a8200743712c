// SPDX-License-Identifier: MIT
// Where a proxy is, and who it takes us for.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::net {

/// What SOCKS5 has room for (RFC 1929).
inline constexpr std::size_t kProxyLoginBytesMax = 255;

struct Proxy {
  /// SOCKS5 (RFC 1928), or CONNECT of HTTP (RFC 9110).
  enum class Kind : std::uint8_t { socks5, http };

  Kind kind = Kind::socks5;
  std::string host = {};
  std::uint16_t port = 0;
  std::string user = {};  ///< Empty: it asks for none.
  std::string password = {};

  /// "socks5://host:1080", without the login.
  std::string place() const;
};

/// Of "socks5://host:1080" or "http://user:password@host:3128"; user and password are as they
/// stand, the user without ':'. `invalid_argument` does not show the password.
Result<Proxy> parse_proxy(std::string_view text);

}  // namespace sluice::net
