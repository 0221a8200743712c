// SPDX-License-Identifier: MIT
// Answers peers, over HTTP and UDP: what the swarms know, and what upstreams have told.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "net/http.h"
#include "net/udp_server.h"
#include "tracker/address_list.h"
#include "tracker/agent_names.h"
#include "tracker/announce_times.h"
#include "tracker/connection_id.h"
#include "tracker/forwarder.h"
#include "tracker/hash_list.h"
#include "tracker/http_query.h"
#include "tracker/late_replies.h"
#include "tracker/swarms.h"
#include "tracker/udp_packet.h"

namespace sluice::tracker {

struct ServiceOptions {
  std::chrono::seconds interval{1800};
  /// While no upstream has named peers of the torrent yet.
  std::chrono::seconds interval_early{60};
  /// So long the first reply waits for upstreams, if nobody else is known; 0: not at all.
  Duration first_reply_wait = std::chrono::milliseconds(300);
  std::uint32_t wanted_max = 200;
  std::string tracker_id = {};
  /// X-Real-IP, or the last of X-Forwarded-For, is believed of these, and of a Unix socket.
  AddressList proxies = {};
  /// `ip=` is believed of addresses that are not public.
  bool believes_local = true;
};

/// Since the start.
struct ServiceStats {
  std::uint64_t announces_http = 0;
  std::uint64_t announces_udp = 0;
  std::uint64_t scrapes_http = 0;
  std::uint64_t scrapes_udp = 0;
  std::uint64_t connects = 0;
  std::uint64_t refused = 0;  ///< Malformed, not served here, or turned away while busy.
  std::uint64_t bad_ids = 0;  ///< UDP packets whose connection id is not theirs.
  std::uint64_t waited = 0;   ///< Replies that waited for upstreams.
};

/// Concurrency: every member may be called from any thread. Nothing blocks.
/// Lifecycle: what it refers to outlives it. stop_waiting() before the servers go.
class Service {
 public:
  struct Seams {
    const Clock* clock = &system_clock();
    Random* random = nullptr;         ///< Used at the beginning only.
    std::function<void()> wake = {};  ///< run_due() is wanted sooner than it said.
  };
  /// `forwarder` may be null: nothing is told to anybody else.
  Service(Swarms& swarms, Forwarder* forwarder, ServiceOptions options, Seams seams);

  /// From now on only these torrents are served; those that are there already age.
  void set_access(HashAccess access);

  /// GET .../announce. Whatever is wrong is told as a `failure reason`, with status 200.
  void announce(net::Exchange exchange);
  /// GET .../scrape.
  void scrape(net::Exchange exchange);
  /// For net::UdpServer. A packet that is no request, or has a bad connection id, gets no answer,
  /// so that nobody is sent more than he has sent.
  std::size_t answer(std::span<const std::byte> packet, const net::UdpPath& path,
                     std::span<std::byte> room);
  /// Who sends answers that come late; null: those are given up.
  void set_udp(net::UdpServer* server);

  /// The forwarder says so: an upstream has named peers, or none is asked about it any more.
  void release(const InfoHash& hash) { late_.release(hash); }
  /// Makes replies that have waited long enough. Returns when it wants to be called again.
  MonoTime run_due() { return late_.run_due(clock_.mono()); }
  void stop_waiting() { late_.release_all(); }

  ServiceStats stats() const;
  /// As many as announces were answered.
  const AnnounceTimes& times() const { return times_; }
  /// Of those who announced over HTTP.
  const AgentNames& agents() const { return agents_; }

 private:
  struct Counters {
    std::atomic<std::uint64_t> announces_http = 0;
    std::atomic<std::uint64_t> announces_udp = 0;
    std::atomic<std::uint64_t> scrapes_http = 0;
    std::atomic<std::uint64_t> scrapes_udp = 0;
    std::atomic<std::uint64_t> connects = 0;
    std::atomic<std::uint64_t> refused = 0;
    std::atomic<std::uint64_t> bad_ids = 0;
    std::atomic<std::uint64_t> waited = 0;
  };
  /// What is told of a torrent.
  struct Found {
    Counts counts = {};
    std::vector<Peer> known = {};  ///< With ids: for replies that are not compact.
    PeerList peers = {};
    bool early = false;  ///< Upstreams may know more in a moment.
  };
  struct Wish {
    bool both_families = false;
    bool with_ids = false;
  };

  bool serves(const InfoHash& hash) const;
  bool forwards() const { return forwarder_ != nullptr && forwarder_->has_upstreams(); }
  std::uint32_t wanted_of(const Announce& announce) const;
  std::optional<Endpoint> source_of(const net::HttpRequest& request) const;
  std::optional<ForwardRefusal> enter(const Announce& announce, Wish wish, Found& found);
  void add_upstream_peers(const Announce& announce, Wish wish, Found& found);
  /// What is known now, of a peer that was entered before.
  Found look_again(const Announce& announce, Wish wish);
  bool should_wait(const Announce& announce, const Found& found) const;
  bool wait(const Announce& announce, LateReplies::Reply reply);
  std::chrono::seconds interval_of(const Found& found) const;

  void refuse(net::Exchange& exchange, std::string_view why,
              std::optional<std::chrono::seconds> again = {});
  void reply(net::Exchange& exchange, const HttpAnnounce& request, const Found& found);
  std::size_t announce_udp(const udp::AnnounceRequest& request, const Endpoint& from,
                           const net::UdpPath& path, udp::Room room);
  bool wait_udp(const Announce& announce, const net::UdpPath& path, std::uint32_t transaction,
                Stopwatch& watch);
  std::size_t scrape_udp(const udp::ScrapeRequest& request, udp::Room room);

  Swarms& swarms_;
  Forwarder* const forwarder_;
  const ServiceOptions options_;
  const Clock& clock_;
  const std::function<void()> wake_;
  const ConnectionIds ids_;
  std::atomic<bool> serves_all_ = true;
  mutable Mutex access_mutex_;
  // A reader may be the last to hold one.
  std::shared_ptr<const HashAccess> access_ SLUICE_GUARDED_BY(access_mutex_);
  std::atomic<net::UdpServer*> udp_ = nullptr;
  AnnounceTimes times_;
  AgentNames agents_;
  LateReplies late_;  // Its replies measure their time.
  Counters counters_;
};

}  // namespace sluice::tracker
