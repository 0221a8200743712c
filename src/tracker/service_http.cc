// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "net/address.h"
#include "tracker/endpoint_text.h"
#include "tracker/http_answer.h"
#include "tracker/service.h"

namespace sluice::tracker {
namespace {

net::HttpResponse bencoded(std::string body) {
  return {.content_type = "text/plain", .body = std::move(body)};
}

bool is_local(const Endpoint& endpoint) {
  static const AddressList local = AddressList::local();
  return local.contains(endpoint);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// What a proxy says of its client.
std::optional<Endpoint> told_by_proxy(const net::RequestHead& head) {
  if (const std::string_view* real = head.find("x-real-ip")) return endpoint_of(trimmed(*real), 0);
  const std::string_view* chain = head.find("x-forwarded-for");
  if (chain == nullptr) return {};
  // The last is what the proxy saw itself; those before are what it was told.
  return endpoint_of(trimmed(chain->substr(chain->rfind(',') + 1)), 0);
}

std::vector<Peer> peers_of(const PeerList& peers) {
  std::vector<Peer> known;
  const auto add = [&](const std::string& list, std::size_t each) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(list.data());
    for (std::size_t at = 0; at < list.size(); at += each)
      known.push_back({endpoint_of_compact({bytes + at, each}), {}});
  };
  add(peers.v4, kCompactBytes4);
  add(peers.v6, kCompactBytes6);
  return known;
}

}  // namespace

std::optional<Endpoint> Service::source_of(const net::HttpRequest& request) const {
  const auto peer = endpoint_of(request.peer, 0);  // A Unix socket has none.
  const bool trusted = !peer || options_.proxies.contains(*peer);
  if (!trusted) return peer;
  const auto told = told_by_proxy(request.head);
  return told ? told : peer;
}

void Service::refuse(net::Exchange& exchange, std::string_view why,
                     std::optional<std::chrono::seconds> again) {
  ++counters_.refused;
  std::string body;
  FailureReply failure{.reason = why, .interval = again, .min_interval = again};
  if (again) failure.retry = RetryIn{.after = std::chrono::ceil<std::chrono::minutes>(*again)};
  append_failure(body, failure);
  exchange.reply(bencoded(std::move(body)));
}

void Service::reply(net::Exchange& exchange, const HttpAnnounce& request, const Found& found) {
  const std::chrono::seconds interval = interval_of(found);
  const AnnounceReply around{.counts = found.counts,
                             .interval = interval,
                             .min_interval = interval,
                             .external = request.announce.endpoint,
                             .tracker_id = options_.tracker_id};
  std::string body;
  if (request.compact) {
    append_announce(body, around, found.peers);
  } else {
    const bool with_ids = !found.known.empty() && !request.no_peer_id;
    append_announce(body, around, found.known.empty() ? peers_of(found.peers) : found.known,
                    with_ids ? PeerIds::shown : PeerIds::hidden);
  }
  exchange.reply(bencoded(std::move(body)));
}

void Service::announce(net::Exchange exchange) {
  ++counters_.announces_http;
  Stopwatch watch(clock_, times_.http);
  auto request = read_http_announce(exchange.request().head.target);
  if (!request) return refuse(exchange, request.error().message());
  const auto source = source_of(exchange.request());
  if (!source) return refuse(exchange, "the tracker cannot tell your address");
  Announce& announce = request->announce;
  const bool believed = request->claimed && options_.believes_local && is_local(*source);
  const std::uint16_t port = announce.endpoint.port;
  announce.endpoint = believed ? *request->claimed : *source;
  announce.endpoint.port = port;
  if (!serves(announce.hash)) return refuse(exchange, "this torrent is not served here");
  if (const std::string_view* agent = exchange.request().head.find("user-agent"))
    agents_.note(announce.peer, *agent);

  const Wish wish{.both_families = true, .with_ids = !request->compact};
  Found found;
  if (const auto refusal = enter(announce, wish, found))
    return refuse(exchange, refusal->why,
                  std::chrono::ceil<std::chrono::seconds>(refusal->retry_in));
  if (!should_wait(announce, found)) return reply(exchange, *request, found);
  // Shared, as a std::function must be copied; the last reply to go is the last to hold it.
  struct Held {
    Stopwatch watch;
    net::Exchange exchange;
    HttpAnnounce request;
  };
  const auto held =
      std::make_shared<Held>(Held{std::move(watch), std::move(exchange), std::move(*request)});
  const bool waits = wait(held->request.announce, [this, held, wish] {
    reply(held->exchange, held->request, look_again(held->request.announce, wish));
    held->watch.stop();
  });
  if (!waits) reply(held->exchange, held->request, found);
}

void Service::scrape(net::Exchange exchange) {
  ++counters_.scrapes_http;
  const auto hashes = read_http_scrape(exchange.request().head.target);
  if (!hashes) return refuse(exchange, hashes.error().message());
  std::vector<ScrapedFile> files;
  for (const InfoHash& hash : *hashes)
    if (serves(hash)) files.push_back({hash, swarms_.scrape(hash)});
  std::string body;
  append_scrape(body, std::move(files));
  exchange.reply(bencoded(std::move(body)));
}

}  // namespace sluice::tracker
