// SPDX-License-Identifier: MIT
#include "tracker/http_query.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tracker/endpoint_text.h"

namespace sluice::tracker {
namespace {

const std::string kHash = "info_hash=aaaaaaaaaaaaaaaaaaaa";
const std::string kWhole = "/announce?" + kHash + "&peer_id=-XX0001-bbbbbbbbbbbb&port=6881";

/// The whole announce with more after it.
Result<HttpAnnounce> with(const std::string& more) {
  return read_http_announce(kWhole + more);
}

template <class Bytes>
std::string text_of(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

std::string why(const std::string& target) {
  const auto read = read_http_announce(target);
  if (read) return "read";
  EXPECT_EQ(read.error().code(), Code::invalid_argument);
  return read.error().message();
}

TEST(HttpQuery, an_announce_is_read) {
  const auto read = read_http_announce(
      "/announce?info_hash=%124Vx%9A%BC%DE%F1%23Eg%89%AB%CD%EF%124Vx%9a&peer_id=-UT1234-"
      "abcdefghij12&port=51413&uploaded=1&downloaded=2&left=3&event=started&numwant=80&compact=0"
      "&no_peer_id=1&key=0A1b2C3d&ip=192.0.2.7&trackerid=a%20b&supportcrypto=1");
  ASSERT_TRUE(read) << read.error().message();
  const Announce& announce = read->announce;
  EXPECT_EQ(text_of(announce.hash.bytes),
            "\x12\x34\x56\x78\x9a\xbc\xde\xf1\x23\x45\x67\x89\xab\xcd\xef\x12\x34\x56\x78\x9a");
  EXPECT_EQ(text_of(announce.peer.bytes), "-UT1234-abcdefghij12");
  EXPECT_EQ(announce.endpoint, Endpoint{.port = 51413});
  EXPECT_EQ(announce.uploaded, 1u);
  EXPECT_EQ(announce.downloaded, 2u);
  EXPECT_EQ(announce.left, 3u);
  EXPECT_EQ(announce.event, Event::started);
  EXPECT_EQ(announce.wanted, 80u);
  EXPECT_EQ(announce.key, 0x0a1b2c3du);
  EXPECT_FALSE(read->compact);
  EXPECT_TRUE(read->no_peer_id);
  EXPECT_EQ(read->claimed, endpoint_of("192.0.2.7", 51413));
  EXPECT_EQ(read->tracker_id, "a b");
}

TEST(HttpQuery, what_is_absent_has_its_default) {
  const auto read = with("");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->announce.uploaded, 0u);
  EXPECT_EQ(read->announce.left, kLeftUnknown);
  EXPECT_FALSE(read->announce.is_seeder());
  EXPECT_EQ(read->announce.event, Event::none);
  EXPECT_FALSE(read->announce.wanted);
  EXPECT_EQ(read->announce.key, 0u);
  EXPECT_TRUE(read->compact);
  EXPECT_FALSE(read->no_peer_id);
  EXPECT_FALSE(read->claimed);
  EXPECT_EQ(read->tracker_id, "");
}

TEST(HttpQuery, every_byte_survives_its_escape) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (const char* format : {"%{:02x}", "%{:02X}"}) {
      const std::string escaped = fmt::format(fmt::runtime(format), byte);
      const auto read = read_http_announce("/?info_hash=" + escaped +
                                           "aaaaaaaaaaaaaaaaaaa&peer_id=bbbbbbbbbbbbbbbbbbb" +
                                           escaped + "&port=1");
      ASSERT_TRUE(read) << escaped;
      EXPECT_EQ(read->announce.hash.bytes.front(), byte);
      EXPECT_EQ(read->announce.peer.bytes.back(), byte);
    }
  }
}

TEST(HttpQuery, a_plus_is_a_plus_unless_told_otherwise) {
  const std::string target =
      "/?info_hash=+aaaaaaaaaaaaaaaaaa%2B&peer_id=bbbbbbbbbbbbbbbbbbbb&port=1";
  EXPECT_EQ(text_of(read_http_announce(target)->announce.hash.bytes), "+aaaaaaaaaaaaaaaaaa+");
  const auto spaced = read_http_announce(target, {.plus_is_space = true});
  EXPECT_EQ(text_of(spaced->announce.hash.bytes), " aaaaaaaaaaaaaaaaaa+");
}

TEST(HttpQuery, of_repeated_keys_the_first_counts) {
  EXPECT_EQ(with("&port=7&left=1&left=2&left=x")->announce.left, 1u);
  EXPECT_EQ(with("&port=7")->announce.endpoint.port, 6881);
  EXPECT_EQ(with("&numwant=-1&numwant=5")->announce.wanted, std::nullopt);
}

TEST(HttpQuery, unknown_keys_and_keys_without_a_value_are_passed_over) {
  EXPECT_TRUE(with("&x=%zz&left&=&&=1&corrupt=5&Left=x&left=&left=0&"));
  EXPECT_TRUE(with("&left=&left=0")->announce.is_seeder());
  EXPECT_TRUE(with("&ip=&key=&trackerid=&event=&numwant=&uploaded="));
}

TEST(HttpQuery, hash_and_peer_id_are_20_bytes) {
  const std::string rest = "&peer_id=bbbbbbbbbbbbbbbbbbbb&port=1";
  for (const std::string bad :
       {"aaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaa", "%", "aaaaaaaaaaaaaaaaaaa%",
        "aaaaaaaaaaaaaaaaaaa%4", "aaaaaaaaaaaaaaaaaaa%4g", "aaaaaaaaaaaaaaaaaaa%g4",
        "aaaaaaaaaaaaaaaaaaaa%", "aaaaaaaaaaaaaaaaaaa%+1"}) {
    EXPECT_NE(why("/?info_hash=" + bad + rest), "read") << bad;
    EXPECT_NE(why("/?" + kHash + "&port=1&peer_id=" + bad), "read") << bad;
  }
  EXPECT_EQ(why("/?info_hash=aaaaaaaaaaaaaaaaaaa" + rest),
            "info_hash is not 20 bytes, escaped where needed");
  EXPECT_EQ(why("/?info_hash=aaaaaaaaaaaaaaaaaaaaa" + rest), "info_hash is longer than 20 bytes");
  EXPECT_EQ(why("/announce"), "info_hash is missing");
  EXPECT_EQ(why("/announce?"), "info_hash is missing");
  EXPECT_EQ(why("/?" + kHash + "&port=1"), "peer_id is missing");
}

TEST(HttpQuery, nothing_is_read_beyond_the_target) {
  const std::string longer = "/?port=1&" + kHash + "&peer_id=bbbbbbbbbbbbbbbbbbb%41";
  const std::string_view target = longer;
  EXPECT_TRUE(read_http_announce(target));
  for (std::size_t size = 0; size < target.size(); ++size)
    EXPECT_FALSE(read_http_announce(target.substr(0, size))) << size;
}

TEST(HttpQuery, ports_have_limits) {
  const std::string start = "/?" + kHash + "&peer_id=bbbbbbbbbbbbbbbbbbbb";
  EXPECT_EQ(why(start + "&port=1"), "read");
  EXPECT_EQ(why(start + "&port=65535"), "read");
  EXPECT_EQ(why(start + "&port=65536"), "port is too large");
  EXPECT_EQ(why(start + "&port=0"), "port must be 1 to 65535");
  EXPECT_EQ(why(start), "port must be 1 to 65535");
  EXPECT_EQ(why(start + "&port=-1"), "port is not a decimal number");
  EXPECT_EQ(why(start + "&port=0&event=stopped"), "read");
  EXPECT_EQ(why(start + "&event=stopped"), "read");
  EXPECT_EQ(why(start + "&port=0&event=completed"), "port must be 1 to 65535");
}

TEST(HttpQuery, numbers_have_64_bits) {
  EXPECT_EQ(with("&left=18446744073709551615")->announce.left, UINT64_MAX);
  EXPECT_EQ(with("&uploaded=00001")->announce.uploaded, 1u);
  EXPECT_EQ(why(kWhole + "&left=18446744073709551616"), "left is too large");
  for (const char* bad : {"-1", "+1", " 1", "1 ", "1.5", "0x10", "1e3", "%31", "x"})
    for (const std::string name : {"uploaded", "downloaded", "left"})
      EXPECT_EQ(why(kWhole + "&" + name + "=" + bad), name + " is not a decimal number") << bad;
}

TEST(HttpQuery, numwant_may_be_anything) {
  EXPECT_EQ(with("&numwant=0")->announce.wanted, 0u);
  EXPECT_EQ(with("&numwant=-1")->announce.wanted, std::nullopt);
  EXPECT_EQ(with("&numwant=500")->announce.wanted, 500u);
  EXPECT_EQ(with("&numwant=4294967295")->announce.wanted, UINT32_MAX);
  EXPECT_EQ(with("&numwant=4294967296")->announce.wanted, UINT32_MAX);
  EXPECT_FALSE(with("&numwant=9223372036854775808"));
  EXPECT_FALSE(with("&numwant=many"));
}

TEST(HttpQuery, events_that_nobody_knows_are_none) {
  EXPECT_EQ(with("&event=completed")->announce.event, Event::completed);
  EXPECT_EQ(with("&event=stopped")->announce.event, Event::stopped);
  EXPECT_EQ(with("&event=paused")->announce.event, Event::none);
  EXPECT_EQ(with("&event=empty")->announce.event, Event::none);
}

TEST(HttpQuery, keys_are_numbers_or_become_ones) {
  EXPECT_EQ(with("&key=f")->announce.key, 15u);
  EXPECT_EQ(with("&key=ffffffff")->announce.key, UINT32_MAX);
  EXPECT_EQ(with("&key=g")->announce.key, 0xe20c2606u);
  EXPECT_NE(with("&key=000000001")->announce.key, 1u);
  EXPECT_NE(with("&key=aXm4qPzR")->announce.key, with("&key=aXm4qPzS")->announce.key);
}

TEST(HttpQuery, a_claimed_address_is_given_back) {
  EXPECT_EQ(with("&ip=2001%3adb8::1")->claimed, endpoint_of("2001:db8::1", 6881));
  EXPECT_EQ(with("&ip=%3A%3Affff:192.0.2.7")->claimed, endpoint_of("192.0.2.7", 6881));
  EXPECT_FALSE(with("&ip=example.org")->claimed);
  EXPECT_FALSE(with("&ip=%4"));
}

TEST(HttpQuery, compact_is_the_default) {
  EXPECT_TRUE(with("&compact=1")->compact);
  EXPECT_TRUE(with("&compact=2")->compact);
  EXPECT_FALSE(with("&compact=0")->compact);
  EXPECT_TRUE(with("&compact=")->compact);
  EXPECT_TRUE(with("&no_peer_id=2")->no_peer_id);
  EXPECT_FALSE(with("&no_peer_id=0")->no_peer_id);
}

TEST(HttpQuery, a_scrape_is_read) {
  const auto hashes =
      read_http_scrape("/scrape?" + kHash + "&x=1&info_hash=bbbbbbbbbbbbbbbbbbb%00&" + kHash);
  ASSERT_TRUE(hashes);
  ASSERT_EQ(hashes->size(), 3u);
  EXPECT_EQ(text_of((*hashes)[1].bytes), std::string("bbbbbbbbbbbbbbbbbbb\0", 20));
  EXPECT_EQ((*hashes)[0], (*hashes)[2]);
}

TEST(HttpQuery, scrapes_have_a_limit) {
  std::string target = "/scrape?";
  for (std::size_t i = 0; i < kScrapeHashesMax; ++i) target += kHash + "&";
  EXPECT_EQ(read_http_scrape(target)->size(), kScrapeHashesMax);
  EXPECT_EQ(read_http_scrape(target + kHash).error().code(), Code::limit_exceeded);
}

TEST(HttpQuery, a_scrape_of_everything_is_refused) {
  for (const char* target : {"/scrape", "/scrape?", "/scrape?info_hash=", "/scrape?info_hash=a"})
    EXPECT_EQ(read_http_scrape(target).error().code(), Code::invalid_argument) << target;
}

}  // namespace
}  // namespace sluice::tracker
