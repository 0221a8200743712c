// SPDX-License-Identifier: MIT
#include "tracker/upstream_answer.h"

#include <gtest/gtest.h>

#include "tracker/endpoint_text.h"
#include "tracker/http_answer.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

UpstreamAnswer read(std::string_view body, UpstreamLimits limits = {}) {
  auto answer = read_upstream_answer(body, limits);
  EXPECT_TRUE(answer) << body << ": " << answer.error().message();
  return answer ? *answer : UpstreamAnswer();
}

std::string bencoded(std::string_view text) {
  return std::to_string(text.size()) + ":" + std::string(text);
}

TEST(UpstreamAnswer, is_read) {
  const auto answer = read(
      "d8:completei5e10:downloadedi6e10:incompletei7e8:intervali1800e12:min intervali900e"
      "5:peers12:ABCDEFGHIJKL6:peers618:aabbccddeeffgghhip10:tracker id2:me"
      "15:warning message4:slowe");
  EXPECT_FALSE(answer.failure);
  EXPECT_FALSE(answer.retry);
  EXPECT_EQ(answer.complete, 5u);
  EXPECT_EQ(answer.downloaded, 6u);
  EXPECT_EQ(answer.incomplete, 7u);
  EXPECT_EQ(answer.interval, 1800s);
  EXPECT_EQ(answer.min_interval, 900s);
  EXPECT_EQ(answer.peers.v4, "ABCDEFGHIJKL");
  EXPECT_EQ(answer.peers.v6, "aabbccddeeffgghhip");
  EXPECT_EQ(answer.tracker_id, "me");
  EXPECT_EQ(answer.warning, "slow");
}

TEST(UpstreamAnswer, keys_may_come_in_any_order) {
  const auto answer = read("d5:peers6:ABCDEF8:intervali60e8:completei1ee");
  EXPECT_EQ(answer.interval, 60s);
  EXPECT_EQ(answer.peers.v4, "ABCDEF");
}

TEST(UpstreamAnswer, what_is_missing_is_nothing) {
  for (const char* body : {"de", "d8:completei-1e8:interval2:605:peersi1e6:peers6dee",
                           "d8:completele8:intervali0e12:min intervali-5e5:peersi1ee"}) {
    const auto answer = read(body);
    EXPECT_FALSE(answer.interval) << body;
    EXPECT_FALSE(answer.min_interval) << body;
    EXPECT_FALSE(answer.complete) << body;
    EXPECT_FALSE(answer.failure) << body;
    EXPECT_EQ(answer.peers.size(), 0u) << body;
  }
}

TEST(UpstreamAnswer, a_failure_beats_everything) {
  const auto answer =
      read("d8:completei5e14:failure reason2:no8:intervali300e5:peers6:ABCDEF8:retry ini5ee");
  EXPECT_EQ(answer.failure, "no");
  EXPECT_EQ(answer.interval, 300s);
  EXPECT_EQ(answer.retry, RetryIn{.after = 5min});
  EXPECT_FALSE(answer.complete);
  EXPECT_EQ(answer.peers.size(), 0u);
  EXPECT_EQ(read("d14:failure reason0:e").failure, "");
  EXPECT_EQ(read("d14:failure reasoni1ee").failure, "");
}

TEST(UpstreamAnswer, retry_is_a_number_or_digits_or_never) {
  const auto retry = [](const std::string& value) {
    return read("d14:failure reason2:no8:retry in" + value + "e").retry;
  };
  EXPECT_EQ(retry("i1e"), RetryIn{.after = 1min});
  EXPECT_EQ(retry("i9e"), RetryIn{.after = 9min});
  EXPECT_EQ(retry("i10e"), RetryIn{.after = 10min});
  EXPECT_EQ(retry("1:9"), RetryIn{.after = 9min});
  EXPECT_EQ(retry("2:10"), RetryIn{.after = 10min});
  EXPECT_EQ(retry("5:never"), RetryIn{.never = true});
  EXPECT_EQ(retry("i525600e"), RetryIn{.after = kUpstreamRetryMax});
  EXPECT_EQ(retry("i525601e"), RetryIn{.after = kUpstreamRetryMax});
  EXPECT_EQ(retry("i9223372036854775807e"), RetryIn{.after = kUpstreamRetryMax});
  for (const char* none : {"i0e", "i-1e", "1:0", "2:-1", "1:x", "0:", "5:Never", "2:1 ", "2:1m",
                           "20:99999999999999999999", "le", "de"})
    EXPECT_FALSE(retry(none)) << none;
  EXPECT_FALSE(read("d8:retry ini5ee").retry) << "only beside a failure";
}

TEST(UpstreamAnswer, intervals_have_a_limit) {
  EXPECT_EQ(read("d8:intervali1ee").interval, 1s);
  EXPECT_EQ(read("d8:intervali86400ee").interval, 24h);
  EXPECT_EQ(read("d8:intervali86401ee").interval, 24h);
  EXPECT_EQ(read("d8:intervali9223372036854775807ee").interval, 24h);
}

TEST(UpstreamAnswer, counts_have_a_limit) {
  EXPECT_EQ(read("d8:completei0ee").complete, 0u);
  EXPECT_EQ(read("d8:completei4294967295ee").complete, UINT32_MAX);
  EXPECT_EQ(read("d8:completei4294967296ee").complete, UINT32_MAX);
}

TEST(UpstreamAnswer, peers_may_be_dictionaries) {
  const auto answer = read(
      "d5:peersld2:ip9:192.0.2.17:peer id20:aaaaaaaaaaaaaaaaaaaa4:porti6881ee"
      "d4:porti80e2:ip11:2001:db8::1ed2:ip16:::ffff:192.0.2.24:porti65535eeee");
  PeerList wanted;
  append_compact(wanted, *endpoint_of("192.0.2.1", 6881));
  append_compact(wanted, *endpoint_of("2001:db8::1", 80));
  append_compact(wanted, *endpoint_of("192.0.2.2", 65535));
  EXPECT_EQ(answer.peers.v4, wanted.v4);
  EXPECT_EQ(answer.peers.v6, wanted.v6);
}

TEST(UpstreamAnswer, peers_that_cannot_be_reached_are_dropped) {
  const auto answer = read(
      "d5:peersl"
      "d2:ip11:example.org4:porti1ee"
      "d2:ip9:192.0.2.14:porti0ee"
      "d2:ip9:192.0.2.14:porti65536ee"
      "d2:ip9:192.0.2.14:porti-1ee"
      "d2:ip9:192.0.2.14:port2:80e"
      "d2:ip9:192.0.2.1e"
      "d4:porti1ee"
      "d2:ip7:0.0.0.04:porti1ee"
      "d2:ip2:::4:porti1ee"
      "i1e6:ABCDEFled2:ipi1e4:porti1ee"
      "d2:ip9:192.0.2.94:porti9ee"
      "ee");
  PeerList wanted;
  append_compact(wanted, *endpoint_of("192.0.2.9", 9));
  EXPECT_EQ(answer.peers.v4, wanted.v4);
  EXPECT_EQ(answer.peers.v6, "");
  const std::string zeros("\0\0\0\0\x01\x01", 6);
  const std::string no_port("ABCD\0\0", 6);
  EXPECT_EQ(read("d5:peers" + bencoded(zeros + no_port + "ABCDEF" + "half") + "e").peers.v4,
            "ABCDEF");
}

TEST(UpstreamAnswer, a_mapped_peer_is_ipv4) {
  const std::string mapped = std::string(10, '\0') + "\xff\xff" + "ABCDEF";
  const auto answer = read("d6:peers6" + bencoded(mapped) + "e");
  EXPECT_EQ(answer.peers.v4, "ABCDEF");
  EXPECT_EQ(answer.peers.v6, "");
}

TEST(UpstreamAnswer, peers_have_a_limit) {
  const std::string four(kCompactBytes4 * 4, 'x');
  const std::string six(kCompactBytes6 * 4, 'x');
  const std::string body = "d5:peers" + bencoded(four) + "6:peers6" + bencoded(six) + "e";
  EXPECT_EQ(read(body, {.peers_max = 4}).peers.size(), 8u);
  EXPECT_EQ(read(body, {.peers_max = 3}).peers.v4.size(), 3 * kCompactBytes4);
  EXPECT_EQ(read(body, {.peers_max = 3}).peers.v6.size(), 3 * kCompactBytes6);
  EXPECT_EQ(read(body, {.peers_max = 0}).peers.size(), 0u);
}

TEST(UpstreamAnswer, texts_have_a_limit) {
  const std::string most(256, 't');
  EXPECT_EQ(read("d14:failure reason" + bencoded(most) + "e").failure, most);
  EXPECT_EQ(read("d14:failure reason" + bencoded(most + "t") + "e").failure, most);
  EXPECT_EQ(read("d15:warning message" + bencoded(most + "t") + "e").warning, most);
  EXPECT_EQ(read("d10:tracker id" + bencoded(most) + "e").tracker_id, most);
  EXPECT_EQ(read("d10:tracker id" + bencoded(most + "t") + "e").tracker_id, "");
}

TEST(UpstreamAnswer, what_is_no_dictionary_is_refused) {
  for (const char* body : {"", "i1e", "le", "4:text", "<html>", "d8:intervali60e",
                           "d8:intervali60eee", "d8:intervali60e8:intervali60ee"})
    EXPECT_EQ(read_upstream_answer(body).error().code(), Code::invalid_argument) << body;
}

TEST(UpstreamAnswer, what_our_own_tracker_says_is_understood) {
  PeerList peers;
  append_compact(peers, *endpoint_of("192.0.2.1", 6881));
  append_compact(peers, *endpoint_of("2001:db8::1", 6882));
  std::string body;
  append_announce(body, {.counts = {1, 2, 3}, .interval = 60s}, peers);
  EXPECT_EQ(read(body).peers.v4, peers.v4);
  EXPECT_EQ(read(body).peers.v6, peers.v6);
  EXPECT_EQ(read(body).downloaded, 3u);
  body.clear();
  append_failure(body, {.reason = "no", .retry = RetryIn{.never = true}});
  EXPECT_EQ(read(body).retry, RetryIn{.never = true});
}

}  // namespace
}  // namespace sluice::tracker
