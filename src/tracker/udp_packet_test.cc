// SPDX-License-Identifier: MIT
#include "tracker/udp_packet.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "tracker/endpoint_text.h"

namespace sluice::tracker::udp {
namespace {

using namespace std::chrono_literals;

using Packet = std::vector<std::uint8_t>;

/// Of hex digits with spaces between them.
Packet packet_of(std::string_view hex) {
  Packet packet;
  std::string digits;
  for (const char c : hex)
    if (c != ' ') digits += c;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    packet.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return packet;
}

template <class T>
Packet written(const T& packet, std::size_t room = kRequestBytesMax) {
  Packet buffer(room, 0xee);
  buffer.resize(write(buffer, packet));
  return buffer;
}

const Packet kConnect = packet_of("00000417 27101980 00000000 01020304");
const Packet kConnected = packet_of("00000000 01020304 1122334455667788");
const Packet kAnnounce = packet_of(
    "1122334455667788 00000001 01020304 6161616161616161616161616161616161616161"
    "6262626262626262626262626262626262626262 0000000000000001 0000000000000002 0000000000000003"
    "00000002 c0000207 deadbeef 00000032 1ae1");
const Packet kScrape = packet_of(
    "1122334455667788 00000002 01020304 6161616161616161616161616161616161616161"
    "6262626262626262626262626262626262626262");

InfoHash hash_of(char c) {
  InfoHash hash;
  hash.bytes.fill(static_cast<std::uint8_t>(c));
  return hash;
}

AnnounceRequest announce_request() {
  return {.connection = 0x1122334455667788,
          .transaction = 0x01020304,
          .announce = {.hash = hash_of('a'),
                       .peer = {.bytes = hash_of('b').bytes},
                       .endpoint = {.port = 6881},
                       .uploaded = 3,
                       .downloaded = 1,
                       .left = 2,
                       .event = Event::started,
                       .wanted = 50,
                       .key = 0xdeadbeef},
          .claimed = endpoint_of("192.0.2.7", 6881)};
}

template <class T>
std::optional<T> request_of(Bytes packet) {
  const auto request = read_request(packet);
  const T* found = request ? std::get_if<T>(&*request) : nullptr;
  return found != nullptr ? std::optional<T>(*found) : std::nullopt;
}

template <class T>
std::optional<T> answer_of(Bytes packet, Family family = Family::v4) {
  const auto answer = read_answer(packet, family);
  const T* found = answer ? std::get_if<T>(&*answer) : nullptr;
  return found != nullptr ? std::optional<T>(*found) : std::nullopt;
}

TEST(UdpPacket, a_connect_is_read) {
  EXPECT_EQ(request_of<ConnectRequest>(kConnect)->transaction, 0x01020304u);
  Packet longer = kConnect;
  longer.push_back(7);
  EXPECT_TRUE(request_of<ConnectRequest>(longer));
}

TEST(UdpPacket, a_connect_of_another_protocol_is_refused) {
  for (std::size_t byte = 0; byte < 8; ++byte) {
    Packet packet = kConnect;
    packet[byte] ^= 1;
    EXPECT_FALSE(read_request(packet)) << byte;
  }
}

TEST(UdpPacket, an_announce_is_read) {
  const auto request = request_of<AnnounceRequest>(kAnnounce);
  ASSERT_TRUE(request);
  const AnnounceRequest wanted = announce_request();
  EXPECT_EQ(request->connection, wanted.connection);
  EXPECT_EQ(request->transaction, wanted.transaction);
  EXPECT_EQ(request->announce.hash, wanted.announce.hash);
  EXPECT_EQ(request->announce.peer, wanted.announce.peer);
  EXPECT_EQ(request->announce.endpoint, wanted.announce.endpoint);
  EXPECT_EQ(request->announce.uploaded, 3u);
  EXPECT_EQ(request->announce.downloaded, 1u);
  EXPECT_EQ(request->announce.left, 2u);
  EXPECT_EQ(request->announce.event, Event::started);
  EXPECT_EQ(request->announce.wanted, 50u);
  EXPECT_EQ(request->announce.key, 0xdeadbeefu);
  EXPECT_EQ(request->claimed, wanted.claimed);
  EXPECT_TRUE(request->options.empty());
}

TEST(UdpPacket, events_and_numbers_of_peers_that_nobody_knows_are_none) {
  const auto with = [](std::size_t at, std::string_view hex) {
    Packet packet = kAnnounce;
    std::ranges::copy(packet_of(hex), packet.begin() + static_cast<std::ptrdiff_t>(at));
    return request_of<AnnounceRequest>(packet)->announce;
  };
  EXPECT_EQ(with(80, "00000000").event, Event::none);
  EXPECT_EQ(with(80, "00000001").event, Event::completed);
  EXPECT_EQ(with(80, "00000003").event, Event::stopped);
  EXPECT_EQ(with(80, "00000004").event, Event::none);
  EXPECT_EQ(with(80, "01000003").event, Event::none);
  EXPECT_EQ(with(92, "ffffffff").wanted, std::nullopt);
  EXPECT_EQ(with(92, "80000000").wanted, std::nullopt);
  EXPECT_EQ(with(92, "7fffffff").wanted, 0x7fffffffu);
  EXPECT_EQ(with(92, "00000000").wanted, 0u);
  EXPECT_FALSE(with(64, "ffffffffffffffff").is_seeder());
  EXPECT_EQ(with(96, "0000").endpoint.port, 0);
}

TEST(UdpPacket, an_address_of_zeros_is_not_claimed) {
  Packet packet = kAnnounce;
  std::fill_n(packet.begin() + 84, 4, std::uint8_t{0});
  EXPECT_FALSE(request_of<AnnounceRequest>(packet)->claimed);
}

TEST(UdpPacket, a_scrape_is_read) {
  const auto request = request_of<ScrapeRequest>(kScrape);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->connection, 0x1122334455667788u);
  EXPECT_EQ(request->transaction, 0x01020304u);
  ASSERT_EQ(request->hashes.size(), 2u);
  EXPECT_EQ(request->hashes[0], hash_of('a'));
  EXPECT_EQ(request->hashes[1], hash_of('b'));
}

TEST(UdpPacket, half_a_hash_is_not_looked_at) {
  const Bytes whole = kScrape;
  EXPECT_EQ(request_of<ScrapeRequest>(whole.first(55))->hashes.size(), 1u);
  EXPECT_EQ(request_of<ScrapeRequest>(whole.first(36))->hashes.size(), 1u);
  EXPECT_FALSE(read_request(whole.first(35)));
}

TEST(UdpPacket, a_scrape_has_a_limit) {
  Packet packet(kScrape.begin(), kScrape.begin() + kScrapeRequestBytes);
  packet.resize(kScrapeRequestBytes + kHashesMax * kHashBytes);
  EXPECT_EQ(request_of<ScrapeRequest>(packet)->hashes.size(), 74u);
  packet.resize(packet.size() + kHashBytes);
  EXPECT_EQ(request_of<ScrapeRequest>(packet)->hashes.size(), 74u);
}

/// In a buffer of its own, so that a sanitizer sees what is read beyond it.
Packet cut(const Packet& packet, std::size_t size) {
  return Packet(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(size));
}

TEST(UdpPacket, every_truncated_request_is_refused) {
  for (std::size_t size = 0; size < kAnnounce.size(); ++size)
    EXPECT_FALSE(read_request(cut(kAnnounce, size))) << size;
  EXPECT_TRUE(read_request(cut(kAnnounce, 98)));
  for (std::size_t size = 0; size < kConnect.size(); ++size)
    EXPECT_FALSE(read_request(cut(kConnect, size))) << size;
  for (std::size_t size = 0; size < 36; ++size)
    EXPECT_FALSE(read_request(cut(kScrape, size))) << size;
}

TEST(UdpPacket, unknown_actions_are_refused) {
  for (const int action : {3, 4, 255}) {
    Packet packet = kAnnounce;
    packet[11] = static_cast<std::uint8_t>(action);
    EXPECT_FALSE(read_request(packet)) << action;
  }
  Packet packet = kAnnounce;
  packet[8] = 1;
  EXPECT_FALSE(read_request(packet));
}

TEST(UdpPacket, answers_are_written) {
  EXPECT_EQ(written(ConnectAnswer{0x01020304, 0x1122334455667788}), kConnected);
  AnnounceAnswer announce{.transaction = 0x01020304,
                          .interval = 1800s,
                          .counts = {.seeders = 5, .leechers = 6, .downloads = 7},
                          .peers = "ABCDEFGHIJKL"};
  EXPECT_EQ(written(announce), packet_of("00000001 01020304 00000708 00000006 00000005"
                                         "414243444546 4748494a4b4c"));
  announce.family = Family::v6;
  announce.peers = "aabbccddeeffgghhip";
  EXPECT_EQ(written(announce), packet_of("00000001 01020304 00000708 00000006 00000005"
                                         "61616262636364646565666667676868 6970"));
  const Counts counts[] = {{1, 2, 3}, {}};
  EXPECT_EQ(written(ScrapeAnswer{0x01020304, counts}),
            packet_of("00000002 01020304 00000001 00000003 00000002 00000000 00000000 00000000"));
  EXPECT_EQ(written(ErrorAnswer{0x01020304, "no"}), packet_of("00000003 01020304 6e6f"));
}

TEST(UdpPacket, answers_of_74_fit_in_their_room) {
  std::array<Counts, kHashesMax> counts = {};
  counts.back() = {1, 2, 3};
  const Packet packet = written(ScrapeAnswer{9, counts}, kAnswerBytesMax);
  EXPECT_EQ(packet.size(), 8u + 74 * 12);
  const auto again = answer_of<ScrapedCounts>(packet);
  EXPECT_EQ(again->counts, std::vector<Counts>(counts.begin(), counts.end()));
}

TEST(UdpPacket, peers_are_cut_to_whole_ones) {
  const std::string peers(100 * kCompactBytes4, 'p');
  const AnnounceAnswer four{.peers = peers};
  EXPECT_EQ(written(four, 20).size(), 20u);
  EXPECT_EQ(written(four, 25).size(), 20u);
  EXPECT_EQ(written(four, 26).size(), 26u);
  EXPECT_EQ(written(four, 31).size(), 26u);
  EXPECT_EQ(written(four).size(), 620u);
  const std::string six(3 * kCompactBytes6, 'p');
  const AnnounceAnswer of_six{.family = Family::v6, .peers = six};
  EXPECT_EQ(written(of_six, 20 + 2 * 18 + 17).size(), 20u + 2 * 18);
  EXPECT_EQ(written(of_six, 20 + 3 * 18).size(), 20u + 3 * 18);
}

TEST(UdpPacket, texts_are_cut_to_the_room) {
  EXPECT_EQ(written(ErrorAnswer{1, "abc"}, 8).size(), 8u);
  EXPECT_EQ(written(ErrorAnswer{1, "abc"}, 10).size(), 10u);
  EXPECT_EQ(written(ErrorAnswer{1, "abc"}, 11).size(), 11u);
}

TEST(UdpPacket, intervals_are_cut_to_what_can_be_told) {
  const auto told = [](std::chrono::seconds interval) {
    return answer_of<AnnounceAnswer>(written(AnnounceAnswer{.interval = interval}))->interval;
  };
  EXPECT_EQ(told(0s), 0s);
  EXPECT_EQ(told(-1s), 0s);
  EXPECT_EQ(told(2147483647s), 2147483647s);
  EXPECT_EQ(told(2147483648s), 2147483647s);
}

TEST(UdpPacket, requests_are_written) {
  EXPECT_EQ(written(ConnectRequest{0x01020304}), kConnect);
  EXPECT_EQ(written(announce_request()), kAnnounce);
  const InfoHash hashes[] = {hash_of('a'), hash_of('b')};
  EXPECT_EQ(written(ScrapeRequest{0x1122334455667788, 0x01020304, hashes}), kScrape);
}

TEST(UdpPacket, a_request_says_what_is_not_wanted_in_particular) {
  AnnounceRequest request = announce_request();
  request.announce.wanted = {};
  request.claimed = endpoint_of("2001:db8::1", 1);
  request.announce.endpoint = *endpoint_of("192.0.2.9", 6881);
  const Packet packet = written(request);
  EXPECT_EQ(Packet(packet.begin() + 84, packet.end()),
            packet_of("00000000 deadbeef ffffffff 1ae1"));
  request.announce.wanted = UINT32_MAX;
  EXPECT_EQ(request_of<AnnounceRequest>(written(request))->announce.wanted, 0x7fffffffu);
}

TEST(UdpPacket, answers_are_read) {
  EXPECT_EQ(answer_of<ConnectAnswer>(kConnected)->connection, 0x1122334455667788u);
  EXPECT_EQ(answer_of<ConnectAnswer>(kConnected)->transaction, 0x01020304u);
  const Packet packet = packet_of(
      "00000001 01020304 00000708 00000006 00000005 414243444546 4748494a4b4c 414243444546 41");
  const auto four = answer_of<AnnounceAnswer>(packet);
  ASSERT_TRUE(four);
  EXPECT_EQ(four->transaction, 0x01020304u);
  EXPECT_EQ(four->interval, 1800s);
  EXPECT_EQ(four->counts, (Counts{.seeders = 5, .leechers = 6}));
  EXPECT_EQ(four->peers, "ABCDEFGHIJKLABCDEF");
  EXPECT_EQ(answer_of<AnnounceAnswer>(packet, Family::v6)->peers.size(), 18u);
  const Packet negative = packet_of("00000001 01020304 80000000 00000006 00000005");
  EXPECT_EQ(answer_of<AnnounceAnswer>(negative)->interval, 0s);
  const Packet refusal = packet_of("00000003 01020304 6e6f");
  EXPECT_EQ(answer_of<ErrorAnswer>(refusal)->text, "no");
  EXPECT_FALSE(read_answer(packet_of("00000004 01020304 6e6f"), Family::v4));
}

TEST(UdpPacket, every_truncated_answer_is_refused) {
  for (std::size_t size = 0; size < kConnected.size(); ++size)
    EXPECT_FALSE(read_answer(cut(kConnected, size), Family::v4)) << size;
  const Packet announced = written(AnnounceAnswer{});
  EXPECT_EQ(announced.size(), kAnnounceAnswerBytes);
  EXPECT_TRUE(read_answer(announced, Family::v4));
  for (std::size_t size = 0; size < announced.size(); ++size)
    EXPECT_FALSE(read_answer(cut(announced, size), Family::v4)) << size;
  for (const int action : {2, 3}) {
    Packet packet(kErrorAnswerBytes);
    packet[3] = static_cast<std::uint8_t>(action);
    EXPECT_TRUE(read_answer(packet, Family::v4));
    for (std::size_t size = 0; size < packet.size(); ++size)
      EXPECT_FALSE(read_answer(cut(packet, size), Family::v4)) << size;
  }
}

TEST(UdpPacket, a_scrape_answer_has_a_limit) {
  Packet packet(kScrapeAnswerBytes + 75 * kScrapedBytes);
  packet[3] = 2;
  EXPECT_EQ(answer_of<ScrapedCounts>(packet)->counts.size(), kHashesMax);
  packet.resize(kScrapeAnswerBytes + 2 * kScrapedBytes - 1);
  EXPECT_EQ(answer_of<ScrapedCounts>(packet)->counts.size(), 1u);
}

TEST(UdpPacket, options_are_joined) {
  const auto joined = [](std::string_view hex) { return url_data(packet_of(hex)); };
  EXPECT_EQ(joined(""), "");
  EXPECT_EQ(joined("02 02 2f61"), "/a");
  EXPECT_EQ(joined("02 02 2f61 01 02 01 62 00 02 01 63"), "/ab") << "nothing counts after the end";
  EXPECT_EQ(joined("03 01 78 02 02 2f61 ff 00 02 01 62"), "/ab") << "unknown ones are passed over";
  EXPECT_EQ(joined("02 02 2f61 02 03 6263"), "/a") << "cut off";
  EXPECT_EQ(joined("02 02 2f61 02"), "/a");
  EXPECT_EQ(joined("02 02 2f61 03"), "/a");
  EXPECT_EQ(joined("02 00 02 01 62"), "b");
}

TEST(UdpPacket, options_follow_an_announce) {
  Packet packet = kAnnounce;
  for (const std::uint8_t byte : packet_of("02 09 2f616e6e6f756e6365 02 04 3f783d31 00"))
    packet.push_back(byte);
  EXPECT_EQ(url_data(request_of<AnnounceRequest>(packet)->options), "/announce?x=1");
  for (std::size_t size = kAnnounceRequestBytes; size < packet.size(); ++size) {
    const Packet shorter = cut(packet, size);
    EXPECT_TRUE(std::string("/announce?x=1")
                    .starts_with(url_data(request_of<AnnounceRequest>(shorter)->options)))
        << size;
  }
}

TEST(UdpPacket, long_options_go_in_pieces) {
  for (const std::size_t size : {0u, 1u, 255u, 256u, 510u, 511u, 1000u}) {
    std::string path(size, 'x');
    std::iota(path.begin(), path.end(), '\0');
    const Packet options = url_options(path);
    EXPECT_EQ(options.size(), size + 2 * ((size + 254) / 255));
    EXPECT_EQ(url_data(options), path);
  }
  AnnounceRequest request = announce_request();
  const Packet options = url_options("/a");
  request.options = options;
  EXPECT_EQ(url_data(request_of<AnnounceRequest>(written(request))->options), "/a");
}

TEST(UdpPacketDeath, what_must_fit_stops_the_process_if_it_does_not) {
  Packet room(2048);
  const auto first = [&](std::size_t bytes) { return Room(room).first(bytes); };
  EXPECT_DEATH(write(first(15), ConnectAnswer{}), "check failed");
  EXPECT_DEATH(write(first(19), AnnounceAnswer{}), "check failed");
  EXPECT_DEATH(write(first(7), ErrorAnswer{}), "check failed");
  EXPECT_DEATH(write(first(97), AnnounceRequest{}), "check failed");
  EXPECT_DEATH(write(first(15), ConnectRequest{}), "check failed");
  const std::vector<Counts> counts(75);
  EXPECT_DEATH(write(room, ScrapeAnswer{1, counts}), "check failed");
  EXPECT_DEATH(write(first(19), ScrapeAnswer{1, std::span(counts).first(1)}), "check failed");
  EXPECT_DEATH(write(room, ScrapeRequest{}), "check failed");
}

}  // namespace
}  // namespace sluice::tracker::udp
