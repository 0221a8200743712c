// SPDX-License-Identifier: MIT
#include "tracker/service.h"

#include <algorithm>
#include <set>
#include <utility>

#include "net/address.h"
#include "tracker/endpoint_text.h"

namespace sluice::tracker {
namespace {

constexpr std::uint32_t kWantedDefault = 50;

/// Adds those of `more` that are new and are not `self`, while there is room.
void merge(std::string& into, std::string_view more, std::string_view self, std::size_t count_max) {
  const std::size_t each = self.size();
  std::set<std::string_view> there;
  // Its memory stays where it is, as the views need.
  into.reserve(std::max(into.size(), count_max * each));
  for (std::size_t at = 0; at < into.size(); at += each)
    there.insert(std::string_view(into).substr(at, each));
  for (std::size_t at = 0; at + each <= more.size() && into.size() < count_max * each; at += each) {
    const std::string_view peer = more.substr(at, each);
    if (peer == self || there.contains(peer)) continue;
    into.append(peer);
    there.insert(std::string_view(into).substr(into.size() - each));
  }
}

/// As it stands in a list of its family; as many zeros if it is of the other.
std::string compact_of(const Endpoint& endpoint, bool is_v6) {
  PeerList one;
  append_compact(one, endpoint);
  const std::string zeros(is_v6 ? kCompactBytes6 : kCompactBytes4, '\0');
  if (endpoint.is_v6 != is_v6) return zeros;
  return is_v6 ? one.v6 : one.v4;
}

}  // namespace

Service::Service(Swarms& swarms, Forwarder* forwarder, ServiceOptions options, Seams seams)
    : swarms_(swarms),
      forwarder_(forwarder),
      options_(std::move(options)),
      clock_(*seams.clock),
      wake_(std::move(seams.wake)),
      ids_(*seams.random) {}

void Service::set_access(HashAccess access) {
  const bool all = access.kind() == HashAccess::Kind::everything;
  const MutexLock lock(access_mutex_);
  access_ = std::make_shared<const HashAccess>(std::move(access));
  serves_all_ = all;
}

void Service::set_udp(net::UdpServer* server) {
  udp_ = server;
}

bool Service::serves(const InfoHash& hash) const {
  if (serves_all_) return true;
  std::shared_ptr<const HashAccess> access;
  {
    const MutexLock lock(access_mutex_);
    access = access_;
  }
  return access->serves(hash);
}

std::uint32_t Service::wanted_of(const Announce& announce) const {
  return std::min(announce.wanted.value_or(kWantedDefault), options_.wanted_max);
}

std::optional<ForwardRefusal> Service::enter(const Announce& announce, Wish wish, Found& found) {
  if (forwards()) {
    const bool known = swarms_.knows(announce.hash);
    const auto seen = known ? HashSeen::before : HashSeen::first;
    if (auto refusal = forwarder_->on_announce(announce, seen)) return refusal;
  }
  const AnnounceOptions options{.wanted_default = kWantedDefault,
                                .wanted_max = options_.wanted_max,
                                .both_families = wish.both_families};
  const MonoTime now = clock_.mono();
  found.counts = wish.with_ids ? swarms_.announce(announce, now, options, found.known)
                               : swarms_.announce(announce, now, options, found.peers);
  add_upstream_peers(announce, wish, found);
  return {};
}

void Service::add_upstream_peers(const Announce& announce, Wish wish, Found& found) {
  if (!forwards() || announce.event == Event::stopped) return;
  const std::size_t wanted = wanted_of(announce);
  const PeerList theirs = forwarder_->peers_of(announce.hash, wanted);
  found.early = theirs.size() == 0 && forwarder_->pending() > 0;
  if (theirs.size() == 0) return;
  // Upstreams do not tell ids, so that the reply does without.
  for (const Peer& peer : found.known) append_compact(found.peers, peer.endpoint);
  found.known.clear();
  const std::size_t v6 = found.peers.v6.size() / kCompactBytes6;
  if (wish.both_families || !announce.endpoint.is_v6)
    merge(found.peers.v4, theirs.v4, compact_of(announce.endpoint, false),
          wanted - std::min(v6, wanted));
  const std::size_t v4 = found.peers.v4.size() / kCompactBytes4;
  if (wish.both_families || announce.endpoint.is_v6)
    merge(found.peers.v6, theirs.v6, compact_of(announce.endpoint, true),
          wanted - std::min(v4, wanted));
}

Service::Found Service::look_again(const Announce& announce, Wish wish) {
  Found found;
  found.counts = swarms_.scrape(announce.hash);
  for (const Peer& peer : swarms_.peers(announce.hash, wanted_of(announce))) {
    const bool of_use = wish.both_families || peer.endpoint.is_v6 == announce.endpoint.is_v6;
    if (of_use && peer.endpoint != announce.endpoint) append_compact(found.peers, peer.endpoint);
  }
  add_upstream_peers(announce, wish, found);
  return found;
}

bool Service::should_wait(const Announce& announce, const Found& found) const {
  return found.early && found.known.empty() && found.peers.size() == 0 &&
         options_.first_reply_wait > Duration() && wanted_of(announce) > 0 &&
         !announce.is_seeder() && forwarder_->is_asked_about(announce.hash);
}

bool Service::wait(const Announce& announce, LateReplies::Reply reply) {
  if (!late_.add(announce.hash, clock_.mono() + options_.first_reply_wait, std::move(reply)))
    return false;
  ++counters_.waited;
  if (wake_) wake_();
  // An upstream that answered before it began to wait released nobody.
  if (!forwarder_->is_asked_about(announce.hash) ||
      forwarder_->peers_of(announce.hash, 1).size() > 0)
    late_.release(announce.hash);
  return true;
}

std::chrono::seconds Service::interval_of(const Found& found) const {
  return found.early ? std::min(options_.interval_early, options_.interval) : options_.interval;
}

ServiceStats Service::stats() const {
  return {.announces_http = counters_.announces_http,
          .announces_udp = counters_.announces_udp,
          .scrapes_http = counters_.scrapes_http,
          .scrapes_udp = counters_.scrapes_udp,
          .connects = counters_.connects,
          .refused = counters_.refused,
          .bad_ids = counters_.bad_ids,
          .waited = counters_.waited};
}

}  // namespace sluice::tracker
