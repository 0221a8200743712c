// SPDX-License-Identifier: MIT
// Announces over UDP as fast as a tracker answers them, from several sockets with many in flight.
#pragma once

#include <sluice/random.h>
#include <sluice/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tracker_crowd.h"

namespace sluice::bench {

struct Announced {
  std::uint64_t answers = 0;
  std::uint64_t peers = 0;  ///< In all answers together.
  std::uint64_t lost = 0;   ///< Announces without an answer.
};

/// One thread. The sockets have different ports, so that a tracker with several sockets gets some
/// on each.
class UdpLoad {
 public:
  /// Asks the tracker at this port of 127.0.0.1 for connection ids.
  static Result<UdpLoad> connect(std::uint16_t port, std::uint64_t seed = 1);
  ~UdpLoad();
  UdpLoad(UdpLoad&&) noexcept;
  UdpLoad& operator=(UdpLoad&&) = delete;

  /// Every peer once. Fails if one in a hundred gets no answer, or an answer is an error.
  Result<Announced> enter(const Crowd& crowd);
  /// `count` announces of peers by chance.
  Result<Announced> announce(const Crowd& crowd, std::uint64_t count);

 private:
  class Lane;
  using Next = std::function<tracker::Announce()>;

  explicit UdpLoad(std::uint64_t seed);
  Result<Announced> run(std::uint64_t count, const Next& next);

  std::vector<std::unique_ptr<Lane>> lanes_;
  SeededRandom random_;
};

}  // namespace sluice::bench
