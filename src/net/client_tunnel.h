// SPDX-License-Identifier: MIT
// The way through a proxy. Private to this room: drags in Asio.
#pragma once

#include <cstdint>
#include <string>

#include "net/loop.h"
#include "net/proxy.h"

namespace sluice::net {

struct Tunnel {
  Proxy proxy = {};
  std::string host = {};  ///< Where it leads: a name, which the proxy looks up, or an address.
  std::uint16_t port = 0;
};

/// Asks the proxy that the socket is connected to for a connection; from then on what is sent and
/// received goes to and comes from the other end. Empty, or why not. Both outlive the task.
Task<std::string> open_tunnel(Socket& socket, const Tunnel& tunnel);

}  // namespace sluice::net
