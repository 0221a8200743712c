// SPDX-License-Identifier: MIT
// The way of a call from its beginning to its end. What is sent and received is in udp_exchange.cc.
#include "tracker/udp_calls.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "net/http_head.h"
#include "net/http_url.h"
#include "tracker/endpoint_text.h"
#include "tracker/upstream_failure.h"

namespace sluice::tracker {
namespace {

constexpr std::string_view kScheme = "udp://";

/// The rules for hosts, ports and paths are those of HTTP, and so is the port of those without one.
Result<net::HttpUrl> parse_udp_url(std::string_view uri) {
  if (!net::equal_ignoring_case(uri.substr(0, kScheme.size()), kScheme))
    return error(Code::invalid_argument, "the uri is none of http, https or udp");
  return net::parse_http_url("http://" + std::string(uri.substr(kScheme.size())));
}

}  // namespace

UdpCalls::UdpCalls(UdpOutside& outside, Random& random, UdpCallsOptions options)
    : outside_(outside), random_(random), options_(options) {
  SLUICE_CHECK(options_.resend_first > Duration());
}

void UdpCalls::add(Call call, MonoTime now) {
  const UpstreamConfig& upstream = *call.request.upstream;
  const auto url = parse_udp_url(upstream.uri);
  if (!url) return call.done(unreachable(url.error().message()));
  Way way{.call = std::move(call), .name = {.host = url->host, .port = url->port}};
  if (url->target != "/") way.options = udp::url_options(url->target);
  if (way.options.size() > udp::kRequestBytesMax - udp::kAnnounceRequestBytes)
    return way.call.done(unreachable("the path of the uri is too long for a packet"));
  if (!upstream.ip.empty()) {
    way.claimed = endpoint_of(upstream.ip, way.call.request.announce.endpoint.port);
    if (!way.claimed) return way.call.done(unreachable("its ip is no address"));
  }
  if (!upstream.proxy.empty())
    return way.call.done(unreachable("no proxy leads to a tracker over UDP"));
  if (!upstream.bind.empty()) {
    way.route.from = endpoint_of(upstream.bind, 0);
    if (!way.route.from) return way.call.done(unreachable("what to send from is no address"));
  }
  Entry& entry = *calls_.emplace(++last_, std::move(way)).first;
  if (entry.second.call.deadline <= now) return expire(entry);
  set_alarm(entry);
  find(entry, now);
}

void UdpCalls::find(Entry& entry, MonoTime now) {
  auto& [number, way] = entry;
  leave(entry);
  way.state = State::finding;
  way.resend = MonoTime::max();
  set_alarm(entry);
  if (const auto endpoint = endpoint_of(way.name.host, way.name.port))
    return go_to(entry, *endpoint, now);
  Site& site = site_of(way.name, now);
  if (!site.looking && now < site.until) {
    if (site.endpoints.empty()) return finish(number, unreachable(site.why));
    return go_to(entry, site.endpoints[site.index], now);
  }
  site.waiting.push_back(number);
  if (!std::exchange(site.looking, true)) outside_.look_up(way.name);
}

void UdpCalls::found(const UdpName& name, const Result<std::vector<Endpoint>>& endpoints,
                     MonoTime now) {
  const auto known = sites_.find(name);
  if (known == sites_.end() || !known->second.looking) return;
  Site& site = known->second;
  site.looking = false;
  site.index = 0;
  site.endpoints = endpoints ? *endpoints : std::vector<Endpoint>();
  site.why = endpoints ? name.host + " has no address" : endpoints.error().message();
  site.until = now + (site.endpoints.empty() ? options_.name_failure_life : options_.name_life);
  for (const Number number : std::exchange(site.waiting, {}))
    if (const auto entry = calls_.find(number); entry != calls_.end()) find(*entry, now);
}

/// Announces if there is an id, and else waits for one.
void UdpCalls::go_to(Entry& entry, const Endpoint& endpoint, MonoTime now) {
  auto& [number, way] = entry;
  way.route.to = endpoint;
  Server& server = server_of(way.route, now);
  if (now < server.until) return announce(entry, server.id, now);
  way.state = State::connecting;
  server.waiting.insert(number);
  begin_pause(entry, now);
  if (server.transaction == 0 || now - server.asked >= options_.resend_first)
    ask_for_id(way.route, server, now);
}

void UdpCalls::send_again(Entry& entry, MonoTime now) {
  Way& way = entry.second;
  Server& server = server_of(way.route, now);
  if (way.state == State::announcing && now >= server.until) return find(entry, now);
  way.pause *= 2;
  way.resend = now + way.pause;
  set_alarm(entry);
  if (way.state == State::announcing) return announce(entry, server.id, now);
  if (now - server.asked >= options_.resend_first) ask_for_id(way.route, server, now);
}

void UdpCalls::try_next(Entry& entry, const Status& why, MonoTime now) {
  auto& [number, way] = entry;
  const auto site = sites_.find(way.name);
  const std::size_t count = site == sites_.end() ? 1 : site->second.endpoints.size();
  if (++way.addresses_failed >= count) return finish(number, unreachable(why.message()));
  give_up_address(way);
  find(entry, now);
}

void UdpCalls::look(MonoTime now) {
  while (!alarms_.empty() && alarms_.begin()->first <= now) {
    Entry& entry = *calls_.find(alarms_.begin()->second);
    if (entry.second.call.deadline <= now)
      expire(entry);
    else
      send_again(entry, now);
  }
}

void UdpCalls::expire(Entry& entry) {
  auto& [number, way] = entry;
  const std::string where = way.name.host + ":" + std::to_string(way.name.port);
  if (way.state == State::finding)
    return finish(number, unreachable("the address of " + where + " was not found in time"));
  if (way.state == State::connecting) give_up_address(way);
  // Some say nothing to who comes with an id that they have forgotten.
  if (way.state == State::announcing) drop_id(way);
  finish(number, unreachable("no answer from " + where + " in time"));
}

/// The next one is used from now on, unless another call has come to that before.
void UdpCalls::give_up_address(const Way& way) {
  const auto known = sites_.find(way.name);
  if (known == sites_.end() || known->second.endpoints.empty()) return;
  Site& site = known->second;
  if (site.endpoints[site.index] == way.route.to)
    site.index = (site.index + 1) % site.endpoints.size();
}

/// Unless others have got a new one meanwhile.
void UdpCalls::drop_id(const Way& way) {
  const auto server = servers_.find(way.route);
  if (server != servers_.end() && server->second.id == way.id) server->second.until = {};
}

void UdpCalls::end() {
  while (!calls_.empty()) finish(calls_.begin()->first, unreachable("the program ends"));
}

void UdpCalls::finish(Number number, UpstreamResult result) {
  const auto found = calls_.find(number);
  leave(*found);
  alarms_.erase({found->second.alarm, number});
  const UpstreamTransport::Done done = std::move(found->second.call.done);
  calls_.erase(found);
  done(std::move(result));
}

MonoTime UdpCalls::next() const {
  return alarms_.empty() ? MonoTime::max() : alarms_.begin()->first;
}

/// Nobody is waited for any more.
void UdpCalls::leave(Entry& entry) {
  auto& [number, way] = entry;
  forget_announce(way);
  if (way.state != State::connecting) return;
  const auto server = servers_.find(way.route);
  if (server == servers_.end()) return;
  server->second.waiting.erase(number);
  if (server->second.waiting.empty()) forget_question(server->second);
}

void UdpCalls::begin_pause(Entry& entry, MonoTime now) {
  entry.second.pause = options_.resend_first;
  entry.second.resend = now + options_.resend_first;
  set_alarm(entry);
}

void UdpCalls::set_alarm(Entry& entry) {
  auto& [number, way] = entry;
  alarms_.erase({way.alarm, number});
  way.alarm = std::min(way.call.deadline, way.resend);
  alarms_.emplace(way.alarm, number);
}

UdpCalls::Site& UdpCalls::site_of(const UdpName& name, MonoTime now) {
  const auto known = sites_.find(name);
  if (known != sites_.end()) return known->second;
  std::erase_if(sites_,
                [&](const auto& one) { return !one.second.looking && one.second.until <= now; });
  return sites_[name];
}

UdpCalls::Server& UdpCalls::server_of(const UdpRoute& route, MonoTime now) {
  const auto known = servers_.find(route);
  if (known != servers_.end()) return known->second;
  std::erase_if(servers_, [&](const auto& one) {
    return one.second.waiting.empty() && one.second.until <= now;
  });
  return servers_[route];
}

}  // namespace sluice::tracker
