// SPDX-License-Identifier: MIT
#include "tracker/http_upstreams.h"

#include <fmt/format.h>

#include <utility>

#include "net/http_url.h"
#include "tracker/endpoint_text.h"
#include "tracker/http_outcome.h"
#include "tracker/upstream_failure.h"
#include "tracker/upstream_target.h"

namespace sluice::tracker {
namespace {

// Whoever calls has a limit of its own.
constexpr std::size_t kWaitingMax = 1'000'000;

bool names_a_torrent(std::string_view url) {
  const std::size_t query = url.find('?');
  return query != std::string_view::npos &&
         url.substr(query).find("info_hash=") != std::string_view::npos;
}

}  // namespace

/// One announce, over all its redirects. Whoever waits for the answer dies last.
struct HttpUpstreams::Call {
  UpstreamRequest request;
  Done done;
  MonoTime deadline;
  std::optional<Endpoint> address = {};  ///< To be known by.
  std::string origin = {};               ///< Where the upstream's uri leads.
  std::string url = {};
  unsigned redirects = 0;
};

Result<std::unique_ptr<HttpUpstreams>> HttpUpstreams::open(HttpUpstreamsOptions options) {
  // The look-ups of the client die last.
  const auto names =
      std::make_shared<NameCache>(options.look_up, *options.clock, options.name_lives);
  SLUICE_LET(client,
             net::HttpClient::open(
                 {.connections_max = options.connections_max,
                  .connections_per_host_max = options.connections_per_host_max,
                  .waiting_max = kWaitingMax,
                  .answer = {.body_bytes_max = options.answer_bytes_max},
                  .ca_file = options.ca_file,
                  .look_up = [names](const std::string& host,
                                     std::uint16_t port) { return names->find(host, port); },
                  .clock = options.clock}));
  return std::unique_ptr<HttpUpstreams>(new HttpUpstreams(std::move(options), std::move(client)));
}

HttpUpstreams::HttpUpstreams(HttpUpstreamsOptions options, std::unique_ptr<net::HttpClient> client)
    : options_(std::move(options)), client_(std::move(client)) {}

HttpUpstreams::~HttpUpstreams() = default;

void HttpUpstreams::announce(const UpstreamRequest& request, Done done) {
  const UpstreamConfig& upstream = *request.upstream;
  const auto url = net::parse_http_url(upstream.uri);
  if (!url) return done(unreachable(url.error().message()));
  if (url->scheme == net::HttpUrl::Scheme::unix_socket)
    return done(unreachable("the uri is none of http, https or udp"));
  auto call = std::make_shared<Call>(Call{.request = request,
                                          .done = std::move(done),
                                          .deadline = options_.clock->mono() + request.timeout,
                                          .origin = url->origin()});
  if (!upstream.ip.empty()) {
    call->address = endpoint_of(upstream.ip, request.announce.endpoint.port);
    if (!call->address) return call->done(unreachable("its ip is no address"));
  }
  call->url = upstream_target(upstream.uri, request.announce,
                              {.address = call->address, .tracker_id = request.tracker_id});
  send(call);
}

void HttpUpstreams::send(const std::shared_ptr<Call>& call) {
  const Duration left = call->deadline - options_.clock->mono();
  if (left <= Duration()) return call->done(unreachable("the time for the call is over"));
  const auto url = net::parse_http_url(call->url);
  const bool at_home = url && url->origin() == call->origin;
  client_->call(
      {.url = call->url,
       .host = at_home ? call->request.upstream->host : "",
       .from = call->request.upstream->bind,
       .proxy = call->request.upstream->proxy,
       .headers = {{"User-Agent", options_.user_agent}},
       .time = left},
      [this, call](Result<net::ClientResponse> answer) { answered(call, std::move(answer)); });
}

void HttpUpstreams::answered(const std::shared_ptr<Call>& call,
                             Result<net::ClientResponse> answer) {
  if (!answer) return call->done(unreachable(answer.error().message()));
  if (is_redirect(answer->status)) return redirect(call, *answer);
  call->done(outcome_of(*answer));
}

void HttpUpstreams::redirect(const std::shared_ptr<Call>& call, const net::ClientResponse& answer) {
  if (call->redirects == options_.redirects_max)
    return call->done(
        unreachable(fmt::format("redirected more than {} times", options_.redirects_max)));
  auto to = redirect_of(answer, call->url);
  if (!to) return call->done(unreachable(to.error().message()));
  ++call->redirects;
  call->url =
      names_a_torrent(*to)
          ? std::move(*to)
          : upstream_target(*to, call->request.announce,
                            {.address = call->address, .tracker_id = call->request.tracker_id});
  send(call);
}

}  // namespace sluice::tracker
