// SPDX-License-Identifier: MIT
#include "tracker/tables.h"

#include <gtest/gtest.h>
#include <sluice/clock.h>
#include <sluice/random.h>

#include <algorithm>
#include <string>

namespace sluice::tracker {
namespace {

struct Bench {
  ManualClock clock;
  SeededRandom random{1};
  Swarms swarms{{}, random};
  std::uint32_t made = 0;

  void add(std::uint8_t hash, const std::string& client, std::uint64_t left = 1,
           bool is_v6 = false) {
    Announce announce{.left = left};
    announce.hash.bytes.fill(hash);
    std::ranges::copy(client, announce.peer.bytes.begin());
    announce.endpoint = {.port = 1, .is_v6 = is_v6};
    ++made;
    for (std::size_t i = 0; i < 4; ++i)
      announce.endpoint.address[i] = static_cast<std::uint8_t>(made >> (8 * i));
    if (left == 0) announce.event = Event::completed;
    PeerList others;
    swarms.announce(announce, clock.mono(), {}, others);
  }
};

TEST(TrackerTables, the_largest_torrents_come_first_with_their_counts) {
  Bench bench;
  for (std::uint8_t hash = 1; hash <= 200; ++hash)
    for (int i = 0; i < hash % 50; ++i) bench.add(hash, "-qB4520-", i == 0 ? 0 : 1, i % 2 == 0);
  const Tables tables = tables_of(bench.swarms, AgentNames(), 5);
  ASSERT_EQ(tables.torrents.size(), 5u);
  // 49, 99, 149 and 199 have 49 peers, 48 has 48; of equals the lesser hash is first.
  const std::uint8_t expected[] = {49, 99, 149, 199, 48};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(tables.torrents[i].hash.bytes[0], expected[i]);
    EXPECT_EQ(tables.torrents[i].counts.seeders, 1u);
    EXPECT_EQ(tables.torrents[i].counts.leechers, i < 4 ? 48u : 47u);
    EXPECT_EQ(tables.torrents[i].counts.downloads, 1u);
  }
}

TEST(TrackerTables, clients_are_counted_over_all_torrents_and_both_families) {
  Bench bench;
  for (std::uint8_t hash = 1; hash <= 30; ++hash) {
    bench.add(hash, "-qB4520-");
    bench.add(hash, "-qB4520-", 1, true);
    bench.add(hash, hash % 2 == 0 ? "-TR3000-" : "no client");
  }
  const Tables tables = tables_of(bench.swarms, AgentNames(), 10);
  ASSERT_EQ(tables.clients.size(), 3u);
  EXPECT_EQ(tables.clients[0].name, "qBittorrent 4.5.2");
  EXPECT_EQ(tables.clients[0].peers, 60u);
  EXPECT_EQ(tables.clients[1].name, "Transmission 3.00");
  EXPECT_EQ(tables.clients[1].peers, 15u);
  EXPECT_EQ(tables.clients[2].name, "unknown");
  EXPECT_EQ(tables_of(bench.swarms, AgentNames(), 1).clients.size(), 1u);
  EXPECT_EQ(tables_of(bench.swarms, AgentNames(), 1).torrents.size(), 1u);
}

TEST(TrackerTables, nothing_is_asked_for_and_nothing_is_given) {
  Bench bench;
  bench.add(1, "-qB4520-");
  EXPECT_TRUE(tables_of(bench.swarms, AgentNames(), 0).torrents.empty());
  EXPECT_TRUE(tables_of(bench.swarms, AgentNames(), 0).clients.empty());
}

TEST(TrackerTables, made_up_clients_beyond_a_number_are_others) {
  Bench bench;
  const std::string signs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  // Some share a name.
  const std::size_t made_up = kClientNamesMax + 200;
  for (std::size_t i = 0; i < made_up; ++i)
    bench.add(1, std::string("-") + signs[i % 36] + signs[i / 36 % 36] + signs[i / 1296] + "000-");
  const Tables tables = tables_of(bench.swarms, AgentNames(), 2 * kClientNamesMax);
  EXPECT_EQ(tables.clients.size(), kClientNamesMax + 1);
  EXPECT_EQ(std::ranges::count(tables.clients, "other", &ClientRow::name), 1);
  std::uint64_t all = 0;
  for (const ClientRow& row : tables.clients) all += row.peers;
  EXPECT_EQ(all, made_up);
}

}  // namespace
}  // namespace sluice::tracker
