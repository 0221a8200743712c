// SPDX-License-Identifier: MIT
// Addresses of sockets.
#pragma once

#include <sluice/result.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::net {

struct Address {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;

  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Of "192.0.2.1" or "2001:db8::1"; nothing if `host` is neither. Nothing is looked up.
std::optional<Address> numeric_address(const std::string& host, std::uint16_t port);

/// `invalid_argument` if the path is empty or too long for a socket.
Result<Address> unix_address(const std::string& path);

/// Whether it belongs to the internet at large. Not private, loopback, link-local, shared,
/// multicast, reserved or for documentation; none that carries an IPv4 address within, but for
/// mapped ones, which are judged by it; no Unix socket.
bool is_public(const Address& address);

/// "192.0.2.1", "2001:db8::1" (also of mapped addresses: "192.0.2.1"), "unix".
std::string peer_name(const sockaddr_storage& address);

}  // namespace sluice::net
