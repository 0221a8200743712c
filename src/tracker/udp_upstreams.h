// SPDX-License-Identifier: MIT
// Upstream trackers that are told by UDP (BEP 15).
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>
#include <sluice/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/mutex.h"
#include "net/resolver.h"
#include "tracker/udp_calls.h"
#include "tracker/upstream_socket.h"
#include "tracker/upstream_transport.h"

namespace sluice::tracker {

struct UdpUpstreamsOptions {
  UdpCallsOptions calls = {};
  net::LookUp look_up = net::look_up;
  const Clock* clock = &system_clock();
};

/// All upstreams share one socket per family of addresses, and one thread. How they are asked is in
/// udp_calls.h. A uri without a port has port 80; its path and query are told if it has any. The
/// `ip` of an upstream is told if that and the upstream's own address are IPv4: packets have no
/// room for more.
///
/// Concurrency: announce() may be called from any thread, also by `done`, which comes on the thread
/// of the sockets, where it must not block.
class UdpUpstreams final : public UpstreamTransport, private UdpOutside {
 public:
  /// `unavailable` if there is no socket to be had. One family is enough.
  static Result<std::unique_ptr<UdpUpstreams>> open(UdpUpstreamsOptions options = {});
  /// As end(). Also waits for names that are being looked up.
  ~UdpUpstreams() override;

  void announce(const UpstreamRequest& request, Done done) override;
  /// Ends the calls that are under way; their `done` has come when it returns. From then on there
  /// is no upstream that can be reached. Not from `done`, nor from several threads.
  void end();

 private:
  struct Found {
    UdpName name;
    Result<std::vector<Endpoint>> endpoints;
  };

  struct Sockets {
    Descriptor waker;
    std::optional<UpstreamSocket> v4;
    std::optional<UpstreamSocket> v6;
  };

  UdpUpstreams(UdpUpstreamsOptions options, Sockets sockets);

  Status send(const UdpRoute& route, udp::Bytes packet) override;
  void look_up(const UdpName& name) override;

  void run(const std::stop_token& stop);
  void take_arrived();
  void wait();
  void receive(const std::optional<UpstreamSocket>& socket);
  void wake() const;

  const Clock& clock_;
  const Sockets sockets_;

  Mutex mutex_;
  bool over_ SLUICE_GUARDED_BY(mutex_) = false;
  std::vector<UdpCalls::Call> arrived_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Found> found_ SLUICE_GUARDED_BY(mutex_);

  // Only on the thread.
  SystemRandom random_;
  UdpCalls calls_;
  std::vector<std::uint8_t> room_;

  net::Resolver resolver_;
  std::jthread thread_;
};

}  // namespace sluice::tracker
