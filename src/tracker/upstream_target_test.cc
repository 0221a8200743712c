// SPDX-License-Identifier: MIT
#include "tracker/upstream_target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "net/http_url.h"
#include "tracker/endpoint_text.h"
#include "tracker/http_query.h"

namespace sluice::tracker {
namespace {

Announce announce() {
  Announce told{.endpoint = *endpoint_of("192.0.2.1", 6881), .left = 7};
  told.hash.bytes.fill('a');
  told.peer.bytes.fill('b');
  return told;
}

const std::string kLeast =
    "info_hash=aaaaaaaaaaaaaaaaaaaa&peer_id=bbbbbbbbbbbbbbbbbbbb&port=6881&uploaded=0&downloaded=0"
    "&left=7&compact=1";

TEST(UpstreamTarget, goes_behind_what_is_there) {
  EXPECT_EQ(upstream_target("/announce", announce()), "/announce?" + kLeast);
  EXPECT_EQ(upstream_target("http://a/announce", announce()), "http://a/announce?" + kLeast);
  EXPECT_EQ(upstream_target("/announce?pass=x", announce()), "/announce?pass=x&" + kLeast);
  EXPECT_EQ(upstream_target("/announce?", announce()), "/announce?" + kLeast);
  EXPECT_EQ(upstream_target("/announce?x&", announce()), "/announce?x&" + kLeast);
  EXPECT_EQ(upstream_target("/announce#part?x", announce()), "/announce?" + kLeast);
}

TEST(UpstreamTarget, says_everything) {
  Announce told = announce();
  told.uploaded = UINT64_MAX;
  told.downloaded = 1;
  told.event = Event::started;
  told.wanted = 0;
  told.key = 0xbeef;
  EXPECT_EQ(
      upstream_target("/", told, {.address = endpoint_of("192.0.2.9", 1), .tracker_id = "a b+"}),
      "/?info_hash=aaaaaaaaaaaaaaaaaaaa&peer_id=bbbbbbbbbbbbbbbbbbbb&port=6881"
      "&uploaded=18446744073709551615&downloaded=1&left=7&compact=1&numwant=0&key=0000BEEF"
      "&event=started&ip=192.0.2.9&ipv4=192.0.2.9&trackerid=a%20b%2B");
  EXPECT_TRUE(upstream_target("/", announce(), {.address = endpoint_of("2001:db8::1", 1)})
                  .ends_with("&ip=2001%3Adb8%3A%3A1&ipv6=2001%3Adb8%3A%3A1"));
}

TEST(UpstreamTarget, names_the_event) {
  Announce told = announce();
  told.event = Event::completed;
  EXPECT_TRUE(upstream_target("/", told).ends_with("&event=completed"));
  told.event = Event::stopped;
  EXPECT_TRUE(upstream_target("/", told).ends_with("&event=stopped"));
}

TEST(UpstreamTarget, every_byte_arrives) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    Announce told = announce();
    told.hash.bytes[3] = static_cast<std::uint8_t>(byte);
    told.peer.bytes[19] = static_cast<std::uint8_t>(byte);
    told.key = byte;
    const std::string target = upstream_target("/announce", told);
    EXPECT_TRUE(std::ranges::none_of(target, [](char c) { return c == '+' || c <= ' '; })) << byte;
    EXPECT_TRUE(net::parse_http_url("http://a" + target)) << byte;
    for (const bool spaces : {false, true}) {
      const auto read = read_http_announce(target, {.plus_is_space = spaces});
      ASSERT_TRUE(read) << byte;
      EXPECT_EQ(read->announce.hash, told.hash);
      EXPECT_EQ(read->announce.peer, told.peer);
      EXPECT_EQ(read->announce.key, byte);
    }
  }
}

}  // namespace
}  // namespace sluice::tracker
