// SPDX-License-Identifier: MIT
// A socket for packets to many upstreams.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <span>

#include "base/descriptor.h"
#include "net/address.h"
#include "tracker/announce.h"
#include "tracker/socket_endpoint.h"

namespace sluice::tracker {

/// Never blocks. Not thread-safe.
class UpstreamSocket {
 public:
  enum class Family : std::uint8_t { v4, v6 };

  /// `unavailable` if the machine has no such addresses.
  static Result<UpstreamSocket> open(Family family);

  /// `from`, of the same family, is the address of this machine to send from; nothing: any.
  /// `unavailable` if nothing can be sent so. A packet for which there is no room at the moment
  /// is lost, as any may be.
  Status send(const Endpoint& to, const std::optional<Endpoint>& from,
              std::span<const std::uint8_t> packet) const;

  struct Received {
    Endpoint from = {};
    std::size_t bytes = 0;
  };
  /// The next packet, cut to the room for it; nothing if there is none.
  std::optional<Received> receive(std::span<std::uint8_t> room) const;

  int fd() const { return socket_.get(); }

 private:
  explicit UpstreamSocket(Descriptor socket) : socket_(std::move(socket)) {}

  Descriptor socket_;
};

}  // namespace sluice::tracker
