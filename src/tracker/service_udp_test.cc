// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "net/address.h"
#include "tracker/service.h"
#include "tracker/service_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HeldTransport;

constexpr std::uint32_t kTransaction = 77;

/// Catches answers that come late.
class CaughtUdp final : public net::UdpServer {
 public:
  const std::string& address() const override { return address_; }
  net::UdpServerStats stats() const override { return {}; }
  void send(const net::UdpPath& /*path*/, std::span<const std::byte> packet) override {
    sent.emplace_back(packet.begin(), packet.end());
  }
  std::vector<std::vector<std::byte>> sent;

 private:
  std::string address_;
};

struct Bench {
  explicit Bench(std::vector<UpstreamConfig> upstreams = {})
      : forwarder({}, {.clock = &clock,
                       .random = &random,
                       .transport = &transport,
                       .on_peers = [this](const InfoHash& hash) { service.release(hash); },
                       .on_quiet = [this](const InfoHash& hash) { service.release(hash); }}),
        service(swarms, &forwarder, {}, {.clock = &clock, .random = &random}) {
    EXPECT_TRUE(forwarder.reload(upstreams).ok());
    service.set_udp(&udp);
  }

  std::vector<std::uint8_t> ask(std::span<const std::uint8_t> packet, const std::string& from) {
    net::UdpPath path;
    path.peer = *net::numeric_address(from, 5000);
    std::array<std::byte, net::kPacketAnswerBytesMax> room;
    const std::size_t size = service.answer(std::as_bytes(packet), path, room);
    forwarder.run_due();
    const auto* first = reinterpret_cast<const std::uint8_t*>(room.data());
    return {first, first + size};
  }
  template <class Request>
  std::vector<std::uint8_t> ask(const Request& request, const std::string& from) {
    std::array<std::uint8_t, udp::kRequestBytesMax> bytes;
    return ask(std::span<const std::uint8_t>(bytes.data(), udp::write(bytes, request)), from);
  }
  std::uint64_t connect(const std::string& from) {
    const auto answer = ask(udp::ConnectRequest{kTransaction}, from);
    const auto read = udp::read_answer(answer, udp::Family::v4);
    return read ? std::get<udp::ConnectAnswer>(*read).connection : 0;
  }
  udp::AnnounceRequest announce(const std::string& from, std::uint16_t port) {
    udp::AnnounceRequest request{.connection = connect(from), .transaction = kTransaction};
    request.announce.hash.bytes.fill('h');
    request.announce.peer.bytes.fill('p');
    request.announce.left = 1;
    request.announce.endpoint.port = port;
    return request;
  }

  ManualClock clock;
  SeededRandom random{1};
  HeldTransport transport;
  CaughtUdp udp;
  Swarms swarms{{}, random};
  Forwarder forwarder;
  Service service;
};

udp::AnnounceAnswer read_announce(const std::vector<std::uint8_t>& answer,
                                  udp::Family family = udp::Family::v4) {
  const auto read = udp::read_answer(answer, family);
  const auto* announced = read ? std::get_if<udp::AnnounceAnswer>(&*read) : nullptr;
  EXPECT_NE(announced, nullptr);
  return announced != nullptr ? *announced : udp::AnnounceAnswer();
}

TEST(TrackerServiceUdp, neighbours_of_one_family_find_each_other) {
  Bench bench;
  bench.ask(bench.announce("192.0.2.1", 1000), "192.0.2.1");
  bench.ask(bench.announce("2001:db8::1", 2000), "2001:db8::1");
  const auto answer = bench.ask(bench.announce("192.0.2.2", 3000), "192.0.2.2");
  const auto four = read_announce(answer);
  EXPECT_EQ(four.transaction, kTransaction);
  EXPECT_EQ(four.interval, 1800s);
  EXPECT_EQ(four.counts.leechers, 3u);
  EXPECT_EQ(four.peers, std::string_view("\xC0\x00\x02\x01\x03\xE8", 6));
  const auto other = bench.ask(bench.announce("2001:db8::2", 4000), "2001:db8::2");
  EXPECT_EQ(read_announce(other, udp::Family::v6).peers.size(), kCompactBytes6);
}

TEST(TrackerServiceUdp, an_id_is_good_for_its_address_and_its_time_only) {
  Bench bench;
  const auto request = bench.announce("192.0.2.1", 1000);
  EXPECT_TRUE(bench.ask(request, "192.0.2.2").empty());
  auto forged = request;
  forged.connection ^= 1;
  EXPECT_TRUE(bench.ask(forged, "192.0.2.1").empty());
  EXPECT_EQ(bench.service.stats().bad_ids, 2u);
  EXPECT_FALSE(bench.ask(request, "192.0.2.1").empty());
  bench.clock.advance(2min);
  EXPECT_FALSE(bench.ask(request, "192.0.2.1").empty());
  bench.clock.advance(10min);
  EXPECT_TRUE(bench.ask(request, "192.0.2.1").empty());
}

TEST(TrackerServiceUdp,
     nothing_shorter_than_a_request_is_answered_and_nothing_grows_without_an_id) {
  Bench bench;
  std::array<std::uint8_t, udp::kRequestBytesMax> bytes = {};
  const std::size_t size = udp::write(bytes, bench.announce("192.0.2.1", 1000));
  for (std::size_t cut = 0; cut < size; ++cut) {
    const auto answer = bench.ask(std::span<const std::uint8_t>(bytes.data(), cut), "192.0.2.1");
    EXPECT_TRUE(answer.empty()) << cut;
  }
  EXPECT_LE(bench.ask(udp::ConnectRequest{1}, "192.0.2.1").size(), udp::kConnectRequestBytes);
}

TEST(TrackerServiceUdp, what_is_wrong_is_told_as_an_error) {
  Bench bench;
  const auto answer = bench.ask(bench.announce("192.0.2.1", 0), "192.0.2.1");
  const auto read = udp::read_answer(answer, udp::Family::v4);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<udp::ErrorAnswer>(*read).text, "the port is missing");
  EXPECT_EQ(bench.service.times().udp.count(), 1u);
}

TEST(TrackerServiceUdp, scrapes) {
  Bench bench;
  bench.ask(bench.announce("192.0.2.1", 1000), "192.0.2.1");
  std::vector<InfoHash> hashes(2);
  hashes[1].bytes.fill('h');
  const udp::ScrapeRequest request{
      .connection = bench.connect("192.0.2.1"), .transaction = 5, .hashes = hashes};
  const auto read = udp::read_answer(bench.ask(request, "192.0.2.1"), udp::Family::v4);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<udp::ScrapedCounts>(*read).counts,
            (std::vector<Counts>{{}, {.seeders = 0, .leechers = 1, .downloads = 0}}));
}

TEST(TrackerServiceUdp, a_scrape_of_74_is_answered_whole_and_one_more_is_left_out) {
  Bench bench;
  bench.ask(bench.announce("192.0.2.1", 1000), "192.0.2.1");
  const std::uint64_t id = bench.connect("192.0.2.1");
  for (const std::size_t asked : {1u, 73u, 74u, 75u}) {
    std::vector<std::uint8_t> packet(udp::kRequestBytesMax);
    packet.resize(udp::write(
        packet, udp::ScrapeRequest{
                    .connection = id, .transaction = 5, .hashes = std::vector<InfoHash>(1)}));
    packet.resize(packet.size() + (asked - 1) * 20, 'h');
    const std::size_t told = std::min<std::size_t>(asked, 74);
    std::vector<std::uint8_t> wanted = {0, 0, 0, 2, 0, 0, 0, 5};
    wanted.resize(8 + told * 12);
    // Nobody knows the first; of the others there is one leecher.
    for (std::size_t i = 1; i < told; ++i) wanted[8 + i * 12 + 11] = 1;
    EXPECT_EQ(bench.ask(std::span<const std::uint8_t>(packet), "192.0.2.1"), wanted) << asked;
  }
}

TEST(TrackerServiceUdp, as_many_peers_are_told_as_are_wanted_and_allowed) {
  Bench bench;
  for (std::uint16_t port = 1; port <= 300; ++port)
    bench.ask(bench.announce("192.0.2.1", port), "192.0.2.1");
  auto request = bench.announce("192.0.2.2", 9999);
  for (const auto& [wanted, told] :
       std::vector<std::pair<std::optional<std::uint32_t>, std::size_t>>{
           {std::nullopt, 50}, {0, 0}, {1, 1}, {200, 200}, {201, 200}, {500, 200}}) {
    request.announce.wanted = wanted;
    EXPECT_EQ(bench.ask(request, "192.0.2.2").size(), 20 + told * kCompactBytes4);
  }
}

TEST(TrackerServiceUdp, options_behind_an_announce_change_nothing) {
  Bench bench;
  bench.ask(bench.announce("192.0.2.1", 1000), "192.0.2.1");
  auto request = bench.announce("192.0.2.2", 2000);
  const auto plain = bench.ask(request, "192.0.2.2");
  ASSERT_EQ(plain.size(), 26u);
  for (const std::vector<std::uint8_t>& options : std::vector<std::vector<std::uint8_t>>{
           {0}, {1, 1, 1}, {2, 2, '/', 'a', 2, 1, 'b', 0}, {2, 255, 'x'}, {9, 1, 7, 0, 5}, {2}}) {
    request.options = options;
    EXPECT_EQ(bench.ask(request, "192.0.2.2"), plain) << options.size();
  }
}

TEST(TrackerServiceUdp, the_first_reply_waits_for_an_upstream) {
  const std::vector<UpstreamConfig> upstreams = {{.name = "up", .uri = "udp://up.example:80"}};
  Bench bench(upstreams);
  EXPECT_TRUE(bench.ask(bench.announce("192.0.2.1", 1000), "192.0.2.1").empty());
  PeerList theirs;
  append_compact(theirs, *endpoint_of("203.0.113.5", 80));
  ASSERT_EQ(bench.transport.size(), 1u);
  EXPECT_EQ(bench.service.times().udp.count(), 0u);
  bench.clock.advance(100ms);
  bench.transport.answer({.outcome = UpstreamOutcome::ok, .interval = 1800s, .peers = theirs});
  ASSERT_EQ(bench.udp.sent.size(), 1u);
  const auto* first = reinterpret_cast<const std::uint8_t*>(bench.udp.sent[0].data());
  const std::vector<std::uint8_t> answer(first, first + bench.udp.sent[0].size());
  EXPECT_EQ(read_announce(answer).peers, std::string_view("\xCB\x00\x71\x05\x00\x50", 6));
  EXPECT_EQ(read_announce(answer).transaction, kTransaction);
  EXPECT_EQ(bench.service.times().udp.count(), 1u);
  EXPECT_EQ(bench.service.times().udp.sum(), 100'000'000u);
}

}  // namespace
}  // namespace sluice::tracker
