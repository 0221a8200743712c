// SPDX-License-Identifier: MIT
#include "tracker/udp_upstreams.h"

#include <gtest/gtest.h>

#include <latch>

#include "net/testing.h"
#include "tracker/upstreams_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<UdpUpstreams> open(UdpUpstreamsOptions options = {}) {
  return UdpUpstreams::open(std::move(options)).value();
}

TEST(UdpUpstreams, an_announce_arrives_whole_and_so_does_its_answer) {
  Kept<std::optional<udp::AnnounceRequest>> kept;
  Kept<std::string> path;
  const auto usual = UdpTracker::usual();
  UdpTracker tracker([&](UdpTracker& self, const udp::Request& request) {
    const auto* const announce = std::get_if<udp::AnnounceRequest>(&request);
    if (announce == nullptr) return usual(self, request);
    kept.set(*announce);
    path.set(udp::url_data(announce->options));
    self.reply(udp::AnnounceAnswer{
        .transaction = announce->transaction, .interval = 900s, .peers = "abcdefghijkl"});
  });
  auto request = request_to(tracker.uri());
  request.upstream = std::make_shared<const UpstreamConfig>(
      UpstreamConfig{.uri = tracker.uri("127.0.0.1", "/announce?key=1"), .ip = "192.0.2.9"});
  request.announce.uploaded = 1ull << 40;
  request.announce.downloaded = 2;
  request.announce.event = Event::started;
  request.announce.wanted = 33;
  request.announce.key = 0xdeadbeef;
  const auto result = ask(*open(), request);
  ASSERT_EQ(result.outcome, UpstreamOutcome::ok) << result.reason;
  EXPECT_EQ(result.interval, 900s);
  EXPECT_EQ(result.peers.v4, "abcdefghijkl");
  EXPECT_EQ(path.get(), "/announce?key=1");
  const auto seen = kept.get();
  EXPECT_EQ(seen->connection, 1u);
  EXPECT_EQ(seen->announce.hash, request.announce.hash);
  EXPECT_EQ(seen->announce.peer, request.announce.peer);
  EXPECT_EQ(seen->announce.uploaded, 1ull << 40);
  EXPECT_EQ(seen->announce.downloaded, 2u);
  EXPECT_EQ(seen->announce.left, 7u);
  EXPECT_EQ(seen->announce.event, Event::started);
  EXPECT_EQ(seen->announce.wanted, 33u);
  EXPECT_EQ(seen->announce.key, 0xdeadbeefu);
  EXPECT_EQ(seen->announce.endpoint.port, 6881);
  const std::array<std::uint8_t, 16> claimed = {192, 0, 2, 9};
  ASSERT_TRUE(seen->claimed);
  EXPECT_EQ(seen->claimed->address, claimed);
}

TEST(UdpUpstreams, packets_are_sent_from_the_address_that_the_upstream_wants) {
  for (const auto& [server, bind] :
       {std::pair("127.0.0.1", "127.0.0.7"), std::pair("127.0.0.1", "127.0.0.8"),
        std::pair("::1", "::1")}) {
    Kept<std::string> client;
    const auto usual = UdpTracker::usual();
    UdpTracker tracker(
        [&](UdpTracker& self, const udp::Request& request) {
          client.set(self.client());
          usual(self, request);
        },
        server);
    const std::string host = server[0] == ':' ? "[::1]" : server;
    auto request = request_to(tracker.uri(host));
    const auto upstreams = open();
    EXPECT_EQ(ask(*upstreams, request).outcome, UpstreamOutcome::ok);
    EXPECT_EQ(client.get(), server);
    request.upstream = std::make_shared<const UpstreamConfig>(
        UpstreamConfig{.uri = tracker.uri(host), .bind = bind});
    const auto result = ask(*upstreams, request);
    EXPECT_EQ(result.outcome, UpstreamOutcome::ok) << result.reason;
    EXPECT_EQ(client.get(), bind);
    EXPECT_EQ(tracker.connects, 2u) << "an id belongs to the address that it was given to";
  }
}

TEST(UdpUpstreams, an_address_that_packets_cannot_be_sent_from_is_told) {
  const UdpTracker tracker;
  const auto upstreams = open();
  for (const char* const bind : {"192.0.2.1", "::1", "nowhere"}) {
    auto request = request_to(tracker.uri());
    request.upstream =
        std::make_shared<const UpstreamConfig>(UpstreamConfig{.uri = tracker.uri(), .bind = bind});
    const auto result = ask(*upstreams, request);
    EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
    EXPECT_NE(result.reason, "") << bind;
  }
  EXPECT_EQ(tracker.connects, 0u);
}

TEST(UdpUpstreams, every_byte_of_hash_and_peer_arrives) {
  Kept<Announce> seen;
  const auto usual = UdpTracker::usual();
  UdpTracker tracker([&](UdpTracker& self, const udp::Request& request) {
    if (const auto* const announce = std::get_if<udp::AnnounceRequest>(&request))
      seen.set(announce->announce);
    usual(self, request);
  });
  const auto upstreams = open();
  for (unsigned byte = 0; byte < 256; ++byte) {
    auto request = request_to(tracker.uri());
    request.announce.hash.bytes[0] = request.announce.peer.bytes[19] =
        static_cast<std::uint8_t>(byte);
    ASSERT_EQ(ask(*upstreams, request).outcome, UpstreamOutcome::ok);
    EXPECT_EQ(seen.get().hash, request.announce.hash);
    EXPECT_EQ(seen.get().peer, request.announce.peer);
  }
  EXPECT_EQ(tracker.connects, 1u);
}

TEST(UdpUpstreams, one_id_serves_many_at_once) {
  std::latch added(1);
  const auto usual = UdpTracker::usual();
  UdpTracker tracker([&](UdpTracker& self, const udp::Request& request) {
    added.wait();
    usual(self, request);
  });
  const auto upstreams = open();
  Results results;
  for (int i = 0; i < 100; ++i) upstreams->announce(request_to(tracker.uri()), results.add());
  added.count_down();
  net::until([&] { return results.count() == 100; });
  for (const auto& result : results.all()) EXPECT_EQ(result.outcome, UpstreamOutcome::ok);
  EXPECT_EQ(tracker.connects, 1u);
  EXPECT_EQ(tracker.announces, 100u);
}

TEST(UdpUpstreams, an_id_is_good_for_a_minute) {
  UdpTracker tracker;
  const ManualClock clock;
  const auto upstreams = open({.clock = &clock});
  EXPECT_EQ(ask(*upstreams, request_to(tracker.uri())).outcome, UpstreamOutcome::ok);
  clock.advance(60s - 1ns);
  EXPECT_EQ(ask(*upstreams, request_to(tracker.uri())).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(tracker.connects, 1u);
  clock.advance(1ns);
  EXPECT_EQ(ask(*upstreams, request_to(tracker.uri())).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(tracker.connects, 2u);
  EXPECT_EQ(tracker.announces, 3u);
}

TEST(UdpUpstreams, an_old_id_is_replaced_and_a_refusal_stays_one) {
  const auto usual = UdpTracker::usual();
  std::uint64_t good = 2;
  UdpTracker tracker([&](UdpTracker& self, const udp::Request& request) {
    const auto* const announce = std::get_if<udp::AnnounceRequest>(&request);
    if (announce == nullptr || announce->connection == good) return usual(self, request);
    self.reply(udp::ErrorAnswer{announce->transaction, "unknown id"});
  });
  EXPECT_EQ(ask(*open(), request_to(tracker.uri())).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(tracker.connects, 2u);
  const auto result = ask(*open(), request_to(tracker.uri()));
  EXPECT_EQ(result.outcome, UpstreamOutcome::refused);
  EXPECT_EQ(result.reason, "unknown id");
  EXPECT_EQ(tracker.connects, 4u);
}

TEST(UdpUpstreams, answers_of_others_and_to_others_are_passed_over) {
  UdpTracker tracker([](UdpTracker& self, const udp::Request& request) {
    if (const auto* connect = std::get_if<udp::ConnectRequest>(&request)) {
      self.reply_from_elsewhere(udp::ConnectAnswer{connect->transaction, 666});
      self.reply(udp::ConnectAnswer{connect->transaction + 1, 667});
      self.reply(udp::ConnectAnswer{connect->transaction, 1});
    }
    if (const auto* announce = std::get_if<udp::AnnounceRequest>(&request)) {
      EXPECT_EQ(announce->connection, 1u);
      udp::AnnounceAnswer answer{.transaction = announce->transaction, .interval = 666s};
      self.reply_from_elsewhere(answer);
      self.reply_from_elsewhere(udp::ErrorAnswer{announce->transaction, "no"});
      answer.transaction += 1;
      self.reply(answer);
      self.reply(udp::AnnounceAnswer{.transaction = announce->transaction, .interval = 900s});
    }
  });
  EXPECT_EQ(ask(*open(), request_to(tracker.uri())).interval, 900s);
}

TEST(UdpUpstreams, what_gets_lost_is_sent_again) {
  const auto usual = UdpTracker::usual();
  UdpTracker tracker([&](UdpTracker& self, const udp::Request& request) {
    const bool is_connect = std::holds_alternative<udp::ConnectRequest>(request);
    const unsigned number = is_connect ? self.connects : self.announces;
    if (number == 3) usual(self, request);
  });
  const auto upstreams = open({.calls = {.resend_first = 1ms}});
  EXPECT_EQ(ask(*upstreams, request_to(tracker.uri())).outcome, UpstreamOutcome::ok);
  EXPECT_GE(tracker.connects, 3u);
  EXPECT_GE(tracker.announces, 3u);
}

TEST(UdpUpstreams, silence_ends_with_the_time_of_the_call) {
  UdpTracker tracker([](UdpTracker&, const udp::Request&) {});
  const auto result = ask(*open(), request_to(tracker.uri(), 20ms));
  EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
  EXPECT_NE(result.reason.find("127.0.0.1:"), std::string::npos);
}

TEST(UdpUpstreams, peers_over_ipv6_are_of_that_family) {
  const auto usual = UdpTracker::usual();
  UdpTracker tracker(
      [&](UdpTracker& self, const udp::Request& request) {
        const auto* const announce = std::get_if<udp::AnnounceRequest>(&request);
        if (announce == nullptr) return usual(self, request);
        self.reply(udp::AnnounceAnswer{.transaction = announce->transaction,
                                       .family = udp::Family::v6,
                                       .peers = "abcdefghijklmnopqr"});
      },
      "::1");
  const auto result = ask(*open(), request_to(tracker.uri("[::1]")));
  ASSERT_EQ(result.outcome, UpstreamOutcome::ok) << result.reason;
  EXPECT_EQ(result.peers.v6, "abcdefghijklmnopqr");
  EXPECT_TRUE(result.peers.v4.empty());
}

TEST(UdpUpstreams, names_are_looked_up_without_holding_up_others) {
  UdpTracker tracker;
  std::latch may_find(1);
  const auto look_up = [&](const std::string& host, std::uint16_t port) {
    EXPECT_EQ(host, "slow.test");
    may_find.wait();
    return Result<std::vector<net::Address>>({*net::numeric_address("127.0.0.1", port)});
  };
  const auto upstreams = open({.look_up = look_up});
  Results slow;
  for (int i = 0; i < 3; ++i) upstreams->announce(request_to(tracker.uri("slow.test")), slow.add());
  EXPECT_EQ(ask(*upstreams, request_to(tracker.uri())).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(slow.count(), 0u);
  may_find.count_down();
  net::until([&] { return slow.count() == 3; });
  for (const auto& result : slow.all()) EXPECT_EQ(result.outcome, UpstreamOutcome::ok);
}

TEST(UdpUpstreams, a_name_that_is_not_found_is_unreachable) {
  std::atomic<int> asked = 0;
  const auto upstreams = open({.look_up = [&](const std::string&, std::uint16_t) {
    ++asked;
    return Result<std::vector<net::Address>>(error(Code::unavailable, "nobody knows it"));
  }});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask(*upstreams, request_to("udp://none.test:1/")).reason, "nobody knows it");
  EXPECT_EQ(asked, 1);
}

TEST(UdpUpstreams, an_address_that_cannot_be_sent_to_makes_way_for_the_next) {
  UdpTracker tracker;
  const auto upstreams = open({.look_up = [](const std::string&, std::uint16_t port) {
    // No packet goes to the address of everybody without leave.
    return Result<std::vector<net::Address>>(
        {*net::numeric_address("255.255.255.255", port), *net::numeric_address("127.0.0.1", port)});
  }});
  EXPECT_EQ(ask(*upstreams, request_to(tracker.uri("two.test"))).outcome, UpstreamOutcome::ok);
}

TEST(UdpUpstreams, done_may_announce_again) {
  UdpTracker tracker;
  const auto upstreams = open();
  Results results;
  std::function<void(UpstreamResult)> again;
  std::atomic<int> left = 50;
  again = [&](UpstreamResult result) {
    const auto done = results.add();
    if (--left > 0) upstreams->announce(request_to(tracker.uri()), again);
    done(std::move(result));
  };
  upstreams->announce(request_to(tracker.uri()), again);
  net::until([&] { return results.count() == 50; });
}

TEST(UdpUpstreams, the_end_ends_all_calls_and_whatever_comes_after) {
  UdpTracker tracker([](UdpTracker&, const udp::Request&) {});
  Results results;
  auto upstreams = open();
  for (int i = 0; i < 20; ++i) upstreams->announce(request_to(tracker.uri()), results.add());
  upstreams->announce(request_to(tracker.uri()), [&](UpstreamResult) {
    upstreams->announce(request_to(tracker.uri()), results.add());
  });
  upstreams->end();
  EXPECT_EQ(results.count(), 21u);
  upstreams->announce(request_to(tracker.uri()), results.add());
  upstreams.reset();
  ASSERT_EQ(results.count(), 22u);
  for (const auto& result : results.all()) EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
}

}  // namespace
}  // namespace sluice::tracker
