// SPDX-License-Identifier: MIT
// Endpoints of sockets.
#pragma once

#include <netinet/in.h>

#include <cstring>
#include <optional>

#include "net/address.h"
#include "tracker/announce.h"

namespace sluice::tracker {

/// Of an address of the internet, or nothing. A mapped one becomes IPv4.
inline std::optional<Endpoint> endpoint_of_socket(const net::Address& address) {
  Endpoint endpoint;
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, &address.storage, sizeof four);
    std::memcpy(endpoint.address.data(), &four.sin_addr, sizeof four.sin_addr);
    endpoint.port = ntohs(four.sin_port);
    return endpoint;
  }
  if (address.storage.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 six;
  std::memcpy(&six, &address.storage, sizeof six);
  endpoint.is_v6 = IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) == 0;
  const std::size_t skipped = endpoint.is_v6 ? 0 : 12;
  std::memcpy(endpoint.address.data(), six.sin6_addr.s6_addr + skipped, 16 - skipped);
  endpoint.port = ntohs(six.sin6_port);
  return endpoint;
}

}  // namespace sluice::tracker
