// SPDX-License-Identifier: MIT
// What calls over UDP send and receive.
#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "tracker/endpoint_text.h"
#include "tracker/udp_calls.h"
#include "tracker/upstream_failure.h"

namespace sluice::tracker {
namespace {

/// Without those that have no address or no port.
PeerList peers_of(const udp::AnnounceAnswer& answer) {
  PeerList peers;
  const std::size_t bytes = answer.family == udp::Family::v6 ? kCompactBytes6 : kCompactBytes4;
  std::string_view rest = answer.peers;
  for (; rest.size() >= bytes; rest.remove_prefix(bytes)) {
    const Endpoint peer =
        endpoint_of_compact({reinterpret_cast<const std::uint8_t*>(rest.data()), bytes});
    if (peer.port != 0 && peer.address != Endpoint().address) append_compact(peers, peer);
  }
  return peers;
}

}  // namespace

void UdpCalls::announce(Entry& entry, std::uint64_t id, MonoTime now) {
  auto& [number, way] = entry;
  if (way.transaction == 0) {
    way.state = State::announcing;
    way.transaction = new_transaction();
    announces_.emplace(way.transaction, number);
    begin_pause(entry, now);
  }
  way.id = id;
  std::array<std::uint8_t, udp::kRequestBytesMax> room;
  const std::size_t bytes = udp::write(
      room, udp::AnnounceRequest{.connection = id,
                                 .transaction = way.transaction,
                                 .announce = way.call.request.announce,
                                 .claimed = way.route.to.is_v6 ? std::nullopt : way.claimed,
                                 .options = way.options});
  const Status sent = outside_.send(way.route, {room.data(), bytes});
  if (!sent.ok()) try_next(entry, sent, now);
}

void UdpCalls::ask_for_id(const UdpRoute& route, Server& server, MonoTime now) {
  if (server.transaction == 0) {
    server.transaction = new_transaction();
    questions_.emplace(server.transaction, route);
  }
  server.asked = now;
  std::array<std::uint8_t, udp::kConnectRequestBytes> room;
  udp::write(room, udp::ConnectRequest{.transaction = server.transaction});
  const Status sent = outside_.send(route, room);
  if (sent.ok()) return;
  for (const Number number : std::set<Number>(server.waiting))
    if (const auto entry = calls_.find(number); entry != calls_.end()) try_next(*entry, sent, now);
}

void UdpCalls::take(const Endpoint& from, udp::Bytes packet, MonoTime now) {
  const auto answer = udp::read_answer(packet, from.is_v6 ? udp::Family::v6 : udp::Family::v4);
  if (!answer) return;
  if (const auto* connect = std::get_if<udp::ConnectAnswer>(&*answer))
    take_answer(from, *connect, now);
  if (const auto* announce = std::get_if<udp::AnnounceAnswer>(&*answer))
    take_answer(from, *announce);
  if (const auto* error = std::get_if<udp::ErrorAnswer>(&*answer)) take_answer(from, *error, now);
}

void UdpCalls::take_answer(const Endpoint& from, const udp::ConnectAnswer& answer, MonoTime now) {
  Server* const server = asked(answer.transaction, from);
  if (server == nullptr) return;
  forget_question(*server);
  const std::uint64_t id = server->id = answer.connection;
  server->until = now + options_.id_life;
  for (const Number number : std::exchange(server->waiting, {}))
    if (const auto entry = calls_.find(number); entry != calls_.end()) announce(*entry, id, now);
}

void UdpCalls::take_answer(const Endpoint& from, const udp::AnnounceAnswer& answer) {
  const Entry* const entry = announced(answer.transaction, from);
  if (entry == nullptr) return;
  UpstreamResult result{.outcome = UpstreamOutcome::ok, .peers = peers_of(answer)};
  if (answer.interval.count() > 0) result.interval = answer.interval;
  finish(entry->first, std::move(result));
}

void UdpCalls::take_answer(const Endpoint& from, const udp::ErrorAnswer& answer, MonoTime now) {
  if (Entry* const entry = announced(answer.transaction, from))
    return take_error(*entry, answer.text, now);
  Server* const server = asked(answer.transaction, from);
  if (server == nullptr) return;
  const std::string why = spoken(answer.text, "it gives no connection id");
  for (const Number number : std::set<Number>(server->waiting)) finish(number, unreachable(why));
}

void UdpCalls::take_error(Entry& entry, std::string_view text, MonoTime now) {
  auto& [number, way] = entry;
  drop_id(way);
  if (std::exchange(way.renewed, true))
    return finish(number, refused(spoken(text, "refused without a reason")));
  find(entry, now);
}

UdpCalls::Entry* UdpCalls::announced(std::uint32_t transaction, const Endpoint& from) {
  const auto known = announces_.find(transaction);
  if (known == announces_.end()) return nullptr;
  Entry& entry = *calls_.find(known->second);
  return entry.second.route.to == from ? &entry : nullptr;
}

UdpCalls::Server* UdpCalls::asked(std::uint32_t transaction, const Endpoint& from) {
  const auto known = questions_.find(transaction);
  if (known == questions_.end() || known->second.to != from) return nullptr;
  return &servers_.find(known->second)->second;
}

std::uint32_t UdpCalls::new_transaction() {
  for (;;) {
    const auto drawn = static_cast<std::uint32_t>(random_.next() >> 32);
    if (drawn != 0 && !announces_.contains(drawn) && !questions_.contains(drawn)) return drawn;
  }
}

void UdpCalls::forget_announce(Way& way) {
  announces_.erase(std::exchange(way.transaction, 0));
}

void UdpCalls::forget_question(Server& server) {
  questions_.erase(std::exchange(server.transaction, 0));
}

}  // namespace sluice::tracker
