// SPDX-License-Identifier: MIT
#include "tracker/http_answer.h"

#include <gtest/gtest.h>

#include "tracker/bencode.h"
#include "tracker/endpoint_text.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

const AnnounceReply kReply{.counts = {.seeders = 1, .leechers = 2, .downloads = 3},
                           .interval = 1800s,
                           .min_interval = 60s};

PeerList list_of(std::initializer_list<Endpoint> endpoints) {
  PeerList peers;
  for (const Endpoint& endpoint : endpoints) append_compact(peers, endpoint);
  return peers;
}

const Endpoint kFour = *endpoint_of("65.66.67.68", 0x4546);
const Endpoint kSix = *endpoint_of("6161:6262:6363:6464:6565:6666:6767:6868", 0x6970);

PeerId id_of(char c) {
  PeerId id;
  id.bytes.fill(static_cast<std::uint8_t>(c));
  return id;
}

InfoHash hash_of(char c) {
  return {.bytes = id_of(c).bytes};
}

std::string compact(const AnnounceReply& reply, const PeerList& peers) {
  std::string out;
  append_announce(out, reply, peers);
  EXPECT_TRUE(bencode::read(out)) << out;
  return out;
}

std::string dicts(std::span<const Peer> peers, PeerIds ids) {
  std::string out;
  append_announce(out, kReply, peers, ids);
  EXPECT_TRUE(bencode::read(out)) << out;
  return out;
}

constexpr char kBegin[] =
    "d8:completei1e10:downloadedi3e10:incompletei2e8:intervali1800e12:min intervali60e";

TEST(HttpAnswer, compact_peers) {
  EXPECT_EQ(compact(kReply, list_of({kFour, kFour})),
            std::string(kBegin) + "5:peers12:ABCDEFABCDEFe");
}

TEST(HttpAnswer, without_peers_there_is_an_empty_list) {
  EXPECT_EQ(compact(kReply, {}), std::string(kBegin) + "5:peers0:e");
}

TEST(HttpAnswer, peers_of_ipv6_only) {
  EXPECT_EQ(compact(kReply, list_of({kSix})),
            std::string(kBegin) + "5:peers0:6:peers618:aabbccddeeffgghhipe");
}

TEST(HttpAnswer, peers_of_both_families) {
  EXPECT_EQ(
      compact(kReply, list_of({kSix, kFour, kSix})),
      std::string(kBegin) + "5:peers6:ABCDEF6:peers636:aabbccddeeffgghhipaabbccddeeffgghhipe");
}

TEST(HttpAnswer, all_that_can_be_said_is_in_order) {
  AnnounceReply reply = kReply;
  reply.external = kFour;
  reply.tracker_id = "me";
  reply.warning = "slow";
  EXPECT_EQ(compact(reply, list_of({kFour, kSix})),
            "d8:completei1e10:downloadedi3e11:external ip4:ABCD10:incompletei2e8:intervali1800e"
            "12:min intervali60e5:peers6:ABCDEF6:peers618:aabbccddeeffgghhip10:tracker id2:me"
            "15:warning message4:slowe");
  reply.external = kSix;
  EXPECT_NE(compact(reply, {}).find("11:external ip16:aabbccddeeffgghh10:"), std::string::npos);
}

TEST(HttpAnswer, the_least_that_can_be_said) {
  EXPECT_EQ(compact({}, {}),
            "d8:completei0e10:downloadedi0e10:incompletei0e8:intervali0e5:peers0:e");
}

TEST(HttpAnswer, is_appended) {
  std::string out = "before";
  append_announce(out, {}, PeerList());
  EXPECT_TRUE(out.starts_with("befored8:complete"));
}

TEST(HttpAnswer, peers_as_dictionaries) {
  const Peer peers[] = {{kFour, id_of('x')}, {kSix, id_of('y')}};
  EXPECT_EQ(dicts(peers, PeerIds::shown),
            std::string(kBegin) +
                "5:peersld2:ip11:65.66.67.687:peer id20:xxxxxxxxxxxxxxxxxxxx4:porti17734ee"
                "d2:ip39:6161:6262:6363:6464:6565:6666:6767:68687:peer id20:yyyyyyyyyyyyyyyyyyyy"
                "4:porti26992eeee");
}

TEST(HttpAnswer, peers_as_dictionaries_without_their_ids) {
  const Peer peers[] = {{kFour, id_of('x')}};
  EXPECT_EQ(dicts(peers, PeerIds::hidden),
            std::string(kBegin) + "5:peersld2:ip11:65.66.67.684:porti17734eeee");
  EXPECT_EQ(dicts({}, PeerIds::hidden), std::string(kBegin) + "5:peerslee");
}

TEST(HttpAnswer, failures) {
  const auto failure = [](const FailureReply& reply) {
    std::string out;
    append_failure(out, reply);
    EXPECT_TRUE(bencode::read(out)) << out;
    return out;
  };
  EXPECT_EQ(failure({.reason = "no"}), "d14:failure reason2:noe");
  EXPECT_EQ(failure({.reason = "no",
                     .interval = 300s,
                     .min_interval = 300s,
                     .retry = RetryIn{.after = 5min}}),
            "d14:failure reason2:no8:intervali300e12:min intervali300e8:retry ini5ee");
  EXPECT_EQ(failure({.reason = "", .retry = RetryIn{.never = true}}),
            "d14:failure reason0:8:retry in5:nevere");
}

TEST(HttpAnswer, scrapes_are_sorted_and_name_each_hash_once) {
  std::string out;
  append_scrape(out, {{hash_of('b'), {1, 2, 3}},
                      {hash_of('\xff'), {}},
                      {hash_of('a'), {4, 5, 6}},
                      {hash_of('b'), {1, 2, 3}}});
  EXPECT_EQ(out,
            "d5:filesd"
            "20:aaaaaaaaaaaaaaaaaaaad8:completei4e10:downloadedi6e10:incompletei5ee"
            "20:bbbbbbbbbbbbbbbbbbbbd8:completei1e10:downloadedi3e10:incompletei2ee"
            "20:" +
                std::string(20, '\xff') +
                "d8:completei0e10:downloadedi0e10:incompletei0ee"
                "ee");
  std::string none;
  append_scrape(none, {});
  EXPECT_EQ(none, "d5:filesdee");
}

TEST(HttpAnswer, a_scrape_of_74) {
  std::vector<ScrapedFile> files;
  std::string wanted = "d5:filesd";
  for (char c = 0; c < 74; ++c) {
    files.insert(files.begin(), {hash_of(c), {1, 2, 3}});
    wanted += "20:" + std::string(20, c) + "d8:completei1e10:downloadedi3e10:incompletei2ee";
  }
  std::string out;
  append_scrape(out, files);
  EXPECT_EQ(out, wanted + "ee");
}

}  // namespace
}  // namespace sluice::tracker
