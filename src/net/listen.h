// SPDX-License-Identifier: MIT
// Addresses to listen on.
#pragma once

#include <sluice/result.h>

#include <string>
#include <vector>

#include "base/descriptor.h"

namespace sluice::net {

struct Listener {
  Descriptor socket;
  std::string address;  ///< As it was asked for, with the port that was taken.
};

/// Listens on "127.0.0.1:3100", "[::1]:0" or "unix:/path". A socket file that nobody listens on any
/// more is replaced. `unavailable` if the address is in use, `permission_denied`,
/// `invalid_argument` if it is no address; names are not looked up.
Result<Listener> listen_on(const std::string& address);

/// As many sockets for datagrams on one address, "127.0.0.1:6969" or "[::]:0", between which the
/// system divides the senders. Fails like listen_on().
Result<std::vector<Listener>> bind_datagrams(const std::string& address, unsigned count);

/// Whether only programs of this machine reach the address.
Result<bool> is_loopback(const std::string& address);

}  // namespace sluice::net
