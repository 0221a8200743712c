// SPDX-License-Identifier: MIT
#include <array>
#include <utility>

#include "tracker/service.h"
#include "tracker/socket_endpoint.h"

namespace sluice::tracker {
namespace {

std::size_t write_found(udp::Room room, std::uint32_t transaction, const Endpoint& to,
                        std::chrono::seconds interval, const Counts& counts,
                        const PeerList& peers) {
  return udp::write(room,
                    udp::AnnounceAnswer{.transaction = transaction,
                                        .interval = interval,
                                        .counts = counts,
                                        .family = to.is_v6 ? udp::Family::v6 : udp::Family::v4,
                                        .peers = to.is_v6 ? peers.v6 : peers.v4});
}

std::span<const std::byte> as_packet(const std::uint8_t* bytes, std::size_t size) {
  return std::as_bytes(std::span(bytes, size));
}

}  // namespace

std::size_t Service::announce_udp(const udp::AnnounceRequest& request, const Endpoint& from,
                                  const net::UdpPath& path, udp::Room room) {
  ++counters_.announces_udp;
  Stopwatch watch(clock_, times_.udp);
  const std::uint32_t transaction = request.transaction;
  const auto refuse_with = [&](std::string_view why) {
    ++counters_.refused;
    return udp::write(room, udp::ErrorAnswer{.transaction = transaction, .text = why});
  };
  Announce announce = request.announce;
  const std::uint16_t port = announce.endpoint.port;
  announce.endpoint = from;
  announce.endpoint.port = port;
  if (port == 0 && announce.event != Event::stopped) return refuse_with("the port is missing");
  if (!serves(announce.hash)) return refuse_with("this torrent is not served here");

  Found found;
  if (const auto refusal = enter(announce, {}, found)) return refuse_with(refusal->why);
  if (should_wait(announce, found) && wait_udp(announce, path, transaction, watch)) return 0;
  return write_found(room, transaction, announce.endpoint, interval_of(found), found.counts,
                     found.peers);
}

bool Service::wait_udp(const Announce& announce, const net::UdpPath& path,
                       std::uint32_t transaction, Stopwatch& watch) {
  // Shared, as a std::function must be copied; the last reply to go is the last to hold it.
  const auto measured = std::make_shared<Stopwatch>(std::move(watch));
  return wait(announce, [this, announce, path, transaction, measured] {
    net::UdpServer* const server = udp_;
    if (server == nullptr) return;
    const Found now = look_again(announce, {});
    std::array<std::uint8_t, net::kPacketAnswerBytesMax> bytes;
    const std::size_t size =
        write_found(bytes, transaction, announce.endpoint, interval_of(now), now.counts, now.peers);
    server->send(path, as_packet(bytes.data(), size));
    measured->stop();
  });
}

std::size_t Service::scrape_udp(const udp::ScrapeRequest& request, udp::Room room) {
  ++counters_.scrapes_udp;
  std::array<Counts, udp::kHashesMax> counts = {};
  for (std::size_t i = 0; i < request.hashes.size(); ++i)
    if (serves(request.hashes[i])) counts[i] = swarms_.scrape(request.hashes[i]);
  return udp::write(room, udp::ScrapeAnswer{.transaction = request.transaction,
                                            .counts = {counts.data(), request.hashes.size()}});
}

std::size_t Service::answer(std::span<const std::byte> packet, const net::UdpPath& path,
                            std::span<std::byte> room) {
  const auto request =
      udp::read_request({reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size()});
  const auto source = endpoint_of_socket(path.peer);
  if (!request || !source) return 0;
  const Endpoint& from = *source;
  const udp::Room bytes(reinterpret_cast<std::uint8_t*>(room.data()), room.size());
  if (const auto* connect = std::get_if<udp::ConnectRequest>(&*request)) {
    ++counters_.connects;
    return udp::write(bytes, udp::ConnectAnswer{.transaction = connect->transaction,
                                                .connection = ids_.issue(from, clock_.mono())});
  }
  const auto* announce = std::get_if<udp::AnnounceRequest>(&*request);
  const auto* scrape = std::get_if<udp::ScrapeRequest>(&*request);
  const std::uint64_t connection = announce != nullptr ? announce->connection : scrape->connection;
  if (!ids_.is_good(connection, from, clock_.mono())) {
    ++counters_.bad_ids;
    return 0;
  }
  return announce != nullptr ? announce_udp(*announce, from, path, bytes)
                             : scrape_udp(*scrape, bytes);
}

}  // namespace sluice::tracker
