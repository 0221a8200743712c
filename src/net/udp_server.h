// SPDX-License-Identifier: MIT
// Answers datagrams: many at once in, many at once out.
#pragma once

#include <sluice/result.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "net/address.h"

namespace sluice::net {

/// What a packet holds at the most; what is longer comes cut off.
inline constexpr std::size_t kPacketBytesMax = 2048;
/// What an answer may hold: it passes through every network in one piece.
inline constexpr std::size_t kPacketAnswerBytesMax = 1400;

struct UdpServerOptions {
  /// "127.0.0.1:6969" or "[::]:6969". Port 0 takes a free one.
  std::string listen = {};
  unsigned threads = 0;  ///< 0: one per core.
};

struct UdpServerStats {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t unsent = 0;  ///< Answers that the system did not take.
};

/// Where a packet came from, and at which of our addresses it arrived: the way of an answer.
struct UdpPath {
  Address peer = {};
  std::array<std::byte, 64> control = {};  ///< As the system gave it.
  std::size_t control_bytes = 0;
  unsigned socket = 0;
};

/// Lifecycle: open() binds one socket per thread to the address, between which the system divides
/// the senders, and answers at once; the destructor ends it. A full socket buffer drops packets, as
/// networks do. An answer leaves from the address that the packet came to.
class UdpServer {
 public:
  /// Called on one of the server's threads for each packet. It must not block. Writes the answer
  /// into `answer`, of kPacketAnswerBytesMax, and returns its size; 0 for none, or for one that
  /// comes later by send().
  using Handler = std::function<std::size_t(std::span<const std::byte> packet, const UdpPath& path,
                                            std::span<std::byte> answer)>;

  /// `unavailable` if the address is in use, `permission_denied` if it may not be used,
  /// `invalid_argument` if it is none.
  static Result<std::unique_ptr<UdpServer>> open(const UdpServerOptions& options, Handler handler);
  virtual ~UdpServer() = default;
  UdpServer(const UdpServer&) = delete;
  UdpServer& operator=(const UdpServer&) = delete;

  /// As in the options, with the port that was taken.
  virtual const std::string& address() const = 0;
  virtual UdpServerStats stats() const = 0;
  /// From any thread. Never blocks; a packet may be lost, as on any network.
  virtual void send(const UdpPath& path, std::span<const std::byte> packet) = 0;

 protected:
  UdpServer() = default;
};

}  // namespace sluice::net
