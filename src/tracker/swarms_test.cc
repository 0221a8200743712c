// SPDX-License-Identifier: MIT
#include "tracker/swarms.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "tracker/swarms_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

/// Swarms and a way to talk to them.
struct Ground {
  explicit Ground(const SwarmsOptions& limits = {}) : swarms(limits, random) {}

  Counts tell(const Announce& announce) {
    return swarms.announce(announce, clock.mono(), options, peers);
  }
  /// Started; leechers unless they have everything.
  void fill(std::uint32_t hash, std::uint32_t from, std::uint32_t to, bool seeders = false) {
    for (std::uint32_t peer = from; peer < to; ++peer) {
      Announce announce = announce_of(hash, peer);
      announce.left = seeders ? 0 : 1;
      tell(announce);
    }
  }
  std::uint64_t expire_all() {
    std::uint64_t removed = 0;
    for (Expired expired; !expired.round_over; removed += expired.gone.size())
      expired = swarms.expire(clock.mono(), 1'000'000);
    return removed;
  }

  SeededRandom random{7};
  ManualClock clock;
  AnnounceOptions options;
  PeerList peers;
  Swarms swarms;
};

TEST(Swarms, the_first_peer_is_alone_and_the_second_finds_it) {
  Ground ground;
  EXPECT_EQ(ground.tell(announce_of(1, 1)), (Counts{.leechers = 1}));
  EXPECT_EQ(ground.peers.size(), 0u);
  EXPECT_EQ(ground.tell(announce_of(1, 2)), (Counts{.leechers = 2}));
  EXPECT_EQ(ground.peers.v4, std::string("\x0a\x00\x00\x00\x1a\xe2", 6));
  EXPECT_EQ(ground.tell(announce_of(2, 3)), (Counts{.leechers = 1}));
  EXPECT_EQ(ground.peers.size(), 0u);
}

TEST(Swarms, an_endpoint_is_one_peer_whatever_its_id) {
  Ground ground;
  ground.tell(announce_of(1, 1));
  Announce again = announce_of(1, 1);
  again.peer = id_number(99);
  EXPECT_EQ(ground.tell(again), (Counts{.leechers = 1}));
  ASSERT_EQ(ground.swarms.peers(hash_number(1), 10).size(), 1u);
  EXPECT_EQ(ground.swarms.peers(hash_number(1), 10)[0].id, id_number(99));
  Announce other = announce_of(1, 1);
  ++other.endpoint.port;
  EXPECT_EQ(ground.tell(other), (Counts{.leechers = 2}));
}

TEST(Swarms, a_seeder_gets_leechers_and_a_leecher_gets_both) {
  Ground ground;
  ground.fill(1, 0, 5, true);
  ground.fill(1, 10, 13);
  Announce seeder = announce_of(1, 0);
  seeder.left = 0;
  EXPECT_EQ(ground.tell(seeder), (Counts{.seeders = 5, .leechers = 3}));
  EXPECT_EQ(set_of(ground.peers),
            (std::set{endpoint_number(10), endpoint_number(11), endpoint_number(12)}));
  ground.tell(announce_of(1, 10));
  EXPECT_EQ(ground.peers.size(), 7u);
  EXPECT_FALSE(set_of(ground.peers).contains(endpoint_number(10)));
}

TEST(Swarms, a_peer_changes_its_role_in_both_directions) {
  Ground ground;
  ground.fill(1, 0, 3);
  Announce done = announce_of(1, 1);
  done.left = 0;
  done.event = Event::completed;
  EXPECT_EQ(ground.tell(done), (Counts{.seeders = 1, .leechers = 2, .downloads = 1}));
  EXPECT_EQ(ground.peers.size(), 2u);
  EXPECT_EQ(ground.tell(announce_of(1, 1)), (Counts{.leechers = 3, .downloads = 1}));
  EXPECT_EQ(ground.swarms.totals(), (Totals{.swarms = 1, .peers = 3}));
}

TEST(Swarms, a_download_counts_once_for_each_peer) {
  Ground ground;
  for (std::uint32_t peer = 0; peer < 2; ++peer)
    for (int time = 0; time < 3; ++time) {
      Announce done = announce_of(1, peer);
      done.left = 0;
      done.event = Event::completed;
      ground.tell(done);
    }
  EXPECT_EQ(ground.swarms.scrape(hash_number(1)), (Counts{.seeders = 2, .downloads = 2}));
}

TEST(Swarms, who_stops_is_removed_and_told_no_peers) {
  Ground ground;
  ground.fill(1, 0, 3);
  Announce stop = announce_of(1, 1);
  stop.event = Event::stopped;
  EXPECT_EQ(ground.tell(stop), (Counts{.leechers = 2}));
  EXPECT_EQ(ground.peers.size(), 0u);
  EXPECT_EQ(ground.tell(stop), (Counts{.leechers = 2}));
  EXPECT_EQ(ground.swarms.totals(), (Totals{.swarms = 1, .peers = 2}));
}

TEST(Swarms, a_stop_makes_no_swarm_and_the_last_one_ends_it) {
  Ground ground;
  Announce stop = announce_of(1, 1);
  stop.event = Event::stopped;
  EXPECT_EQ(ground.tell(stop), Counts{});
  EXPECT_FALSE(ground.swarms.knows(hash_number(1)));
  Announce done = announce_of(1, 1);
  done.event = Event::completed;
  ground.tell(done);
  EXPECT_TRUE(ground.swarms.knows(hash_number(1)));
  EXPECT_EQ(ground.tell(stop), (Counts{.downloads = 1}));
  EXPECT_FALSE(ground.swarms.knows(hash_number(1)));
  EXPECT_EQ(ground.swarms.scrape(hash_number(1)), Counts{});
  EXPECT_EQ(ground.swarms.totals(), Totals{});
}

TEST(Swarms, it_gives_as_many_as_wanted_up_to_the_cap) {
  Ground ground;
  ground.fill(1, 0, 301);
  const auto given = [&](std::optional<std::uint32_t> wanted) {
    Announce announce = announce_of(1, 0);
    announce.wanted = wanted;
    ground.tell(announce);
    EXPECT_EQ(set_of(ground.peers).size(), ground.peers.size());
    return ground.peers.size();
  };
  EXPECT_EQ(given({}), 50u);
  EXPECT_EQ(given(0), 0u);
  EXPECT_EQ(given(1), 1u);
  EXPECT_EQ(given(199), 199u);
  EXPECT_EQ(given(200), 200u);
  EXPECT_EQ(given(201), 200u);
  EXPECT_EQ(given(UINT32_MAX), 200u);
  ground.options.wanted_max = UINT32_MAX;
  EXPECT_EQ(given(299), 299u);
  EXPECT_EQ(given(300), 300u);
  EXPECT_EQ(given(301), 300u);
}

TEST(Swarms, each_family_gets_its_own_unless_both_are_asked_for) {
  Ground ground;
  ground.options.wanted_max = 1000;
  for (std::uint32_t peer = 0; peer < 40; ++peer) ground.tell(announce_of(1, peer));
  for (std::uint32_t peer = 0; peer < 20; ++peer) ground.tell(announce_of(1, peer, true));
  const auto given = [&](bool is_v6, std::uint32_t wanted) {
    Announce announce = announce_of(1, 0, is_v6);
    announce.wanted = wanted;
    EXPECT_EQ(ground.tell(announce), (Counts{.leechers = 60}));
    return std::pair(ground.peers.v4.size() / 6, ground.peers.v6.size() / 18);
  };
  EXPECT_EQ(given(false, 100), std::pair(39ul, 0ul));
  EXPECT_EQ(given(true, 100), std::pair(0ul, 19ul));
  ground.options.both_families = true;
  EXPECT_EQ(given(false, 100), std::pair(39ul, 20ul));
  EXPECT_EQ(given(true, 100), std::pair(40ul, 19ul));
  std::size_t v4 = 0;
  for (int time = 0; time < 1000; ++time) {
    const auto [four, six] = given(false, 10);
    ASSERT_EQ(four + six, 10u);
    v4 += four;
  }
  EXPECT_NEAR(static_cast<double>(v4), 10'000.0 * 39 / 59, 100);
  EXPECT_EQ(ground.swarms.totals(), (Totals{.swarms = 1, .peers = 60, .peers_v6 = 20}));
}

TEST(Swarms, answers_with_ids_name_the_same_peers) {
  Ground ground;
  ground.fill(1, 0, 3, true);
  ground.fill(1, 3, 6);
  std::vector<Peer> peers(7);
  const Counts counts =
      ground.swarms.announce(announce_of(1, 4), ground.clock.mono(), ground.options, peers);
  EXPECT_EQ(counts, (Counts{.seeders = 3, .leechers = 3}));
  std::map<Endpoint, Peer> found;
  for (const Peer& peer : peers) found[peer.endpoint] = peer;
  ASSERT_EQ(peers.size(), 5u);
  ASSERT_EQ(found.size(), 5u);
  for (const std::uint32_t peer : {0u, 1u, 2u, 3u, 5u})
    EXPECT_EQ(
        found[endpoint_number(peer)],
        (Peer{.endpoint = endpoint_number(peer), .id = id_number(peer), .is_seeder = peer < 3}));
}

// At every size around those at which arrays and indexes grow, and back again.
TEST(Swarms, every_size_up_to_a_thousand_answers_with_all_the_others) {
  for (const bool is_v6 : {false, true}) {
    Ground ground;
    ground.options.wanted_max = 2000;
    const auto all_others = [&](std::uint32_t from, std::uint32_t to, std::uint32_t own) {
      Announce announce = announce_of(1, own, is_v6);
      announce.wanted = 2000;
      const Counts counts = ground.tell(announce);
      ASSERT_EQ(counts.leechers, to - from);
      std::set<Endpoint> others;
      for (std::uint32_t peer = from; peer < to; ++peer)
        if (peer != own) others.insert(endpoint_number(peer, is_v6));
      ASSERT_EQ(ground.peers.size(), others.size());
      ASSERT_EQ(set_of(ground.peers), others);
    };
    for (std::uint32_t size = 1; size <= 1000; ++size) {
      ground.tell(announce_of(1, size - 1, is_v6));
      if (size <= 130 || size % 97 == 0) all_others(0, size, size / 2);
    }
    for (std::uint32_t gone = 0; gone < 999; ++gone) {
      Announce stop = announce_of(1, gone, is_v6);
      stop.event = Event::stopped;
      ground.tell(stop);
      if (gone >= 870 || gone % 97 == 0) all_others(gone + 1, 1000, 999);
    }
    EXPECT_EQ(ground.swarms.totals().peers, 1u);
  }
}

TEST(Swarms, every_peer_of_a_large_swarm_is_given_as_often_as_the_others) {
  Ground ground;
  ground.fill(1, 0, 1001);
  std::map<Endpoint, int> times;
  Announce announce = announce_of(1, 500);
  announce.wanted = 50;
  for (int time = 0; time < 4000; ++time) {
    ground.tell(announce);
    for (const Endpoint& endpoint : endpoints_of(ground.peers)) ++times[endpoint];
  }
  EXPECT_EQ(times.size(), 1000u);
  EXPECT_FALSE(times.contains(endpoint_number(500)));
  for (const auto& [endpoint, count] : times) EXPECT_NEAR(count, 200, 90);
}

TEST(Swarms, peers_and_swarms_go_at_the_age_and_not_before) {
  Ground ground({.age = 10min});
  ground.fill(1, 0, 3);
  ground.clock.advance(1s);
  ground.fill(1, 3, 4);
  ground.fill(2, 0, 1);
  ground.clock.advance(10min - 2s);
  EXPECT_EQ(ground.expire_all(), 0u);
  ground.tell(announce_of(1, 0));
  ground.clock.advance(1s);
  EXPECT_EQ(ground.expire_all(), 2u);
  EXPECT_EQ(ground.swarms.scrape(hash_number(1)), (Counts{.leechers = 2}));
  ground.clock.advance(1s);
  EXPECT_EQ(ground.expire_all(), 2u);
  EXPECT_FALSE(ground.swarms.knows(hash_number(2)));
  EXPECT_EQ(ground.swarms.totals(), (Totals{.swarms = 1, .peers = 1}));
  ground.clock.advance(10min);
  EXPECT_EQ(ground.expire_all(), 1u);
  EXPECT_EQ(ground.swarms.totals(), Totals{});
}

TEST(Swarms, expiry_looks_at_no_more_than_its_budget) {
  for (const std::size_t budget : {1ul, 2ul, 7ul, 1023ul, 1024ul, 1025ul, 5000ul}) {
    Ground ground({.age = 1min});
    ground.fill(1, 0, 3000);
    for (std::uint32_t hash = 2; hash < 300; ++hash) ground.fill(hash, 0, hash % 3 + 1, true);
    for (std::uint32_t peer = 0; peer < 50; ++peer) ground.tell(announce_of(1, peer, true));
    const std::uint64_t all = ground.swarms.totals().peers;
    ground.clock.advance(1min);
    std::uint64_t removed = 0;
    Expired expired;
    for (std::uint64_t calls = 1; !expired.round_over; ++calls) {
      expired = ground.swarms.expire(ground.clock.mono(), budget);
      ASSERT_LE(expired.gone.size(), budget);
      removed += expired.gone.size();
      ASSERT_EQ(ground.swarms.totals().peers, all - removed);
      ASSERT_LE(calls, (all + 300) / budget + 2);
    }
    EXPECT_EQ(removed, all);
    EXPECT_EQ(ground.swarms.totals(), Totals{});
  }
}

TEST(Swarms, a_swarm_costs_expiry_as_much_as_a_peer) {
  Ground ground;
  for (std::uint32_t hash = 0; hash < 300; ++hash) ground.fill(hash, 0, 1);
  EXPECT_FALSE(ground.swarms.expire(ground.clock.mono(), 598).round_over);
  EXPECT_TRUE(ground.swarms.expire(ground.clock.mono(), 2).round_over);
  EXPECT_FALSE(ground.swarms.expire(ground.clock.mono(), 0).round_over);
}

TEST(Swarms, a_round_of_expiry_misses_nobody_while_others_come_and_go) {
  Ground ground({.age = 1min});
  ground.fill(1, 0, 2000);
  ground.fill(2, 0, 500, true);
  ground.clock.advance(1min);
  std::uint32_t next = 10'000;
  for (Expired expired; !expired.round_over; ++next) {
    expired = ground.swarms.expire(ground.clock.mono(), 16);
    ground.fill(1, next, next + 1);
    ground.fill(2, next, next + 1);
    ground.fill(next, 0, 1);
    Announce stop = announce_of(next - 3, 0);
    stop.event = Event::stopped;
    ground.tell(stop);
  }
  for (const std::uint32_t hash : {1u, 2u})
    for (const Peer& peer : ground.swarms.peers(hash_number(hash), SIZE_MAX))
      EXPECT_GE(peer.endpoint, endpoint_number(10'000));
}

TEST(Swarms, past_its_limit_it_answers_but_enters_nobody) {
  Ground ground({.peers_max = 3});
  ground.fill(1, 0, 3);
  EXPECT_EQ(ground.tell(announce_of(1, 3)), (Counts{.leechers = 3}));
  EXPECT_EQ(ground.peers.size(), 3u);
  EXPECT_EQ(ground.tell(announce_of(2, 3)), Counts{});
  EXPECT_FALSE(ground.swarms.knows(hash_number(2)));
  EXPECT_EQ(ground.tell(announce_of(1, 2)), (Counts{.leechers = 3}));
  EXPECT_EQ(ground.peers.size(), 2u);
  Announce stop = announce_of(1, 0);
  stop.event = Event::stopped;
  ground.tell(stop);
  EXPECT_EQ(ground.tell(announce_of(2, 3)), (Counts{.leechers = 1}));
  EXPECT_EQ(ground.swarms.totals(), (Totals{.swarms = 2, .peers = 3}));
}

TEST(Swarms, a_list_of_peers_is_no_longer_than_asked_for) {
  Ground ground;
  ground.fill(1, 0, 5);
  ground.tell(announce_of(1, 0, true));
  EXPECT_EQ(ground.swarms.peers(hash_number(1), 0).size(), 0u);
  EXPECT_EQ(ground.swarms.peers(hash_number(1), 5).size(), 5u);
  EXPECT_EQ(ground.swarms.peers(hash_number(1), 6).size(), 6u);
  EXPECT_EQ(ground.swarms.peers(hash_number(1), 7).size(), 6u);
  EXPECT_EQ(ground.swarms.peers(hash_number(2), 7).size(), 0u);
}

TEST(Swarms, arrays_give_memory_back_when_peers_go) {
  PeerArray<kCompactBytes4> array(1);
  const auto compact = [](std::uint32_t number) {
    return PeerArray<kCompactBytes4>::Compact{static_cast<std::uint8_t>(number),
                                              static_cast<std::uint8_t>(number >> 8)};
  };
  for (std::uint32_t i = 0; i < 10'000; ++i) array.insert(compact(i), {}, i % 3 == 0);
  EXPECT_LE(array.capacity(), 15'002u);
  for (std::uint32_t left = 10'000; left > 0; --left) {
    array.remove(left / 2);
    ASSERT_LE(array.capacity(), 4 * left + 4);
  }
  EXPECT_EQ(array.size(), 0u);
  EXPECT_LE(array.capacity(), 4u);
}

}  // namespace
}  // namespace sluice::tracker
