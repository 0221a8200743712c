// SPDX-License-Identifier: MIT
// Peers that complete, stop, come back and expire; upstreams that come and go; the end.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

using Kind = SimMode::Kind;

std::map<std::string, std::size_t> told(const ForwardBench& bench, Event event) {
  std::map<std::string, std::size_t> upstreams;
  for (const auto& sent : bench.transport.sent)
    if (sent.announce.event == event) ++upstreams[sent.upstream];
  return upstreams;
}

TEST(ForwardEvents, the_first_announce_says_started) {
  ForwardBench bench;
  bench.announce(1, 1);
  bench.run_for(1800s);
  ASSERT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.transport.sent[0].announce.event, Event::started);
  EXPECT_EQ(bench.transport.sent[1].announce.event, Event::none);
}

TEST(ForwardEvents, completed_and_stopped_reach_whoever_knew_the_peer_once) {
  ForwardBench bench(plain_options(), 5);
  bench.transport.set("u3", {.kind = Kind::not_found});
  bench.announce(1, 1);
  bench.announce(1, 1, Event::completed);
  const std::map<std::string, std::size_t> known = {{"u0", 1}, {"u1", 1}, {"u2", 1}, {"u4", 1}};
  EXPECT_EQ(told(bench, Event::completed), known);
  bench.announce(1, 1, Event::stopped);
  bench.announce(1, 1, Event::stopped);
  EXPECT_EQ(told(bench, Event::stopped), known);
  EXPECT_EQ(bench.insight().local_peers, 0u);
  EXPECT_EQ(bench.insight().torrents, 0u);
  bench.run_for(24h);
  EXPECT_EQ(bench.sent(), 13u) << "nothing after that";
}

TEST(ForwardEvents, stopped_waits_for_the_answer_that_runs) {
  ForwardBench bench;
  bench.transport.set_all({.after = 5s});
  bench.announce(1, 1);
  bench.announce(1, 1, Event::completed);
  bench.announce(1, 1, Event::stopped);
  EXPECT_EQ(bench.sent(), 1u);
  bench.run_for(5s);
  ASSERT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.transport.sent[1].announce.event, Event::stopped);
  EXPECT_EQ(bench.transport.sent[1].announce.wanted, 0u);
  bench.run_for(1h);
  EXPECT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.insight().local_peers, 0u);
}

TEST(ForwardEvents, completed_follows_the_answer_that_runs) {
  ForwardBench bench;
  bench.transport.set_all({.after = 5s});
  bench.announce(1, 1);
  bench.announce(1, 1, Event::completed);
  bench.run_for(20s);
  ASSERT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.transport.sent[1].announce.event, Event::completed);
}

TEST(ForwardEvents, a_job_that_was_never_sent_is_cancelled_when_the_peer_stops) {
  ForwardOptions options = plain_options();
  options.slots_base = 1;
  ForwardBench bench(options);
  bench.transport.set_all({.after = 5s});
  bench.announce(1, 1);
  bench.announce(2, 2);
  ASSERT_EQ(bench.insight().queued, 1u);
  bench.announce(2, 2, Event::stopped);
  EXPECT_EQ(bench.insight().queued, 0u);
  EXPECT_EQ(bench.insight().jobs.cancelled, 1u);
  bench.run_for(1min);
  EXPECT_EQ(bench.sent(), 1u);
}

TEST(ForwardEvents, events_go_first) {
  ForwardOptions options = plain_options();
  options.slots_base = 1;
  ForwardBench bench(options);
  bench.announce(1, 1);
  bench.transport.set_all({.after = 1s});
  for (std::uint32_t hash = 2; hash < 10; ++hash) bench.put(hash, 1);
  bench.put(1, 1, Event::stopped);
  bench.run();
  EXPECT_EQ(bench.transport.sent.back().announce.event, Event::stopped);
}

TEST(ForwardEvents, more_urgent_jobs_take_the_place_of_refreshes) {
  ForwardOptions options = plain_options();
  options.slots_base = 1;
  options.queue_capacity = 4;
  options.throttle_top_n = 0;
  ForwardBench bench(options);
  for (std::uint32_t hash = 0; hash < 5; ++hash) bench.announce(hash, 1);
  bench.transport.set_all({.after = 1h});
  bench.run_for(1800s);  // All five again: one runs, four wait.
  ASSERT_EQ(bench.insight().depth, 4u);
  bench.put(10, 1);
  EXPECT_EQ(bench.insight().depth, 4u);
  const auto displaced = static_cast<std::size_t>(DropReason::displaced);
  EXPECT_EQ(bench.insight().jobs.dropped[displaced], 1u);
  for (std::uint32_t hash = 11; hash < 14; ++hash) bench.put(hash, 1);
  EXPECT_EQ(bench.insight().jobs.dropped[displaced], 4u);
  bench.put(14, 1);
  EXPECT_EQ(bench.insight().jobs.dropped[displaced], 4u) << "its equals keep their places";
  EXPECT_EQ(bench.insight().jobs.dropped[static_cast<std::size_t>(DropReason::full)], 1u);
  EXPECT_EQ(bench.insight().dropped_full, 5u);
  bench.transport.set_all({});
  bench.run_for(2h);
  EXPECT_EQ(bench.insight().pending, 0u) << "and all come to their turn";
  for (std::uint32_t hash : {0u, 4u, 10u, 14u})
    EXPECT_GE(std::ranges::count_if(
                  bench.transport.sent,
                  [&](const auto& sent) { return sent.announce.hash == hash_of(hash); }),
              hash < 10 ? 2 : 1);
}

TEST(ForwardEvents, what_is_sent_is_the_newest_request) {
  ForwardOptions options = plain_options();
  options.slots_base = 1;
  ForwardBench bench(options);
  bench.transport.set_all({.after = 1s});
  bench.announce(1, 1);
  for (std::uint64_t left : {30u, 20u, 10u})
    bench.forwarder.on_announce({.hash = hash_of(2), .peer = peer_of(1), .left = left},
                                HashSeen::before);
  bench.run_for(3s);
  ASSERT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.transport.sent[1].announce.left, 10u);
}

TEST(ForwardEvents, a_peer_that_comes_back_is_announced_again) {
  ForwardBench bench;
  bench.announce(1, 1);
  bench.transport.set_all({.after = 5s});
  bench.announce(1, 1, Event::stopped);
  ASSERT_EQ(bench.transport.sent.back().announce.event, Event::stopped);
  bench.announce(1, 1, Event::started);
  EXPECT_EQ(bench.sent(), 2u);
  bench.run_for(5s);
  ASSERT_EQ(bench.sent(), 3u) << "after the upstream has heard that it stopped";
  EXPECT_EQ(bench.transport.sent.back().announce.event, Event::started);
  bench.run_for(1h);
  EXPECT_EQ(bench.insight().local_peers, 1u);
}

TEST(ForwardEvents, a_peer_that_came_back_is_not_said_to_have_stopped_once_more) {
  ForwardBench bench;
  bench.announce(1, 1);
  bench.transport.set_all({.kind = Kind::reset, .after = 5s});
  bench.announce(1, 1, Event::stopped);
  bench.announce(1, 1, Event::started);
  bench.transport.set_all({});
  bench.run_for(1min);
  ASSERT_EQ(bench.sent(), 3u);
  EXPECT_EQ(bench.transport.sent[1].announce.event, Event::stopped);
  EXPECT_EQ(bench.transport.sent[2].announce.event, Event::started);
}

TEST(ForwardEvents, completed_is_not_the_first_thing_that_an_upstream_hears) {
  ForwardBench bench;
  bench.transport.set_all({.kind = Kind::reset, .after = 1s});
  bench.announce(1, 1);
  bench.announce(1, 1, Event::completed);
  bench.transport.set_all({});
  bench.run_for(10s);
  ASSERT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.transport.sent[1].announce.event, Event::started);
}

TEST(ForwardEvents, a_peer_that_comes_back_soon_enough_has_not_stopped) {
  ForwardOptions options = plain_options();
  options.slots_base = 1;
  ForwardBench bench(options);
  bench.announce(1, 1);
  bench.transport.set_all({.after = 5s});
  bench.announce(2, 1);
  bench.announce(1, 1, Event::stopped);
  ASSERT_EQ(bench.insight().queued, 1u);
  bench.announce(1, 1, Event::started);
  bench.run_for(1min);
  EXPECT_EQ(bench.transport.count(Event::stopped), 0u);
  EXPECT_EQ(bench.insight().pending, 0u);
}

TEST(ForwardEvents, a_peer_that_expires_stops_and_is_not_kept_alive) {
  ForwardBench bench;
  bench.announce(1, 1);
  bench.forwarder.peer_gone(hash_of(9), peer_of(1));
  bench.forwarder.peer_gone(hash_of(1), peer_of(9));
  bench.forwarder.peer_gone(hash_of(1), peer_of(1));
  bench.run_for(24h);
  EXPECT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.transport.count(Event::stopped), 1u);
}

TEST(ForwardEvents, a_registration_is_kept_alive_without_the_client) {
  ForwardBench bench;
  bench.announce(1, 1);
  bench.run_for(10h);
  EXPECT_EQ(bench.sent(), 21u);
}

TEST(ForwardEvents, a_dead_upstream_does_not_keep_those_who_left) {
  ForwardBench bench;
  for (std::uint32_t hash = 0; hash < 20; ++hash) bench.announce(hash, 1);
  bench.transport.set_all({.kind = Kind::reset});
  for (std::uint32_t hash = 0; hash < 20; ++hash) bench.announce(hash, 1, Event::stopped);
  EXPECT_EQ(bench.insight().upstreams[0].state, UpstreamState::open);
  EXPECT_GT(bench.insight().local_peers, 0u);
  bench.run_for(10min);
  EXPECT_EQ(bench.insight().local_peers, 0u);
  EXPECT_GT(bench.insight().jobs.dropped[static_cast<std::size_t>(DropReason::blocked)], 0u);
}

TEST(ForwardEvents, whoever_leaves_makes_room_for_itself_in_a_full_queue) {
  ForwardOptions options = plain_options();
  options.queue_capacity = 2;
  options.throttle_top_n = 0;
  options.timeout = 1h;
  options.slots_base = options.slots_max = 1;
  ForwardBench bench(options, 2);
  bench.transport.set("u1", {.interval = 60s});
  bench.announce(1, 1);
  ASSERT_EQ(bench.sent(), 2u);
  bench.transport.set_all({.kind = Kind::black_hole});
  bench.announce(2, 1);
  bench.run_for(60s);
  ASSERT_EQ(bench.insight().depth, 2u) << "one of them is the refresh for u1";
  bench.put(1, 1, Event::stopped);
  EXPECT_EQ(bench.insight().depth, 2u);
}

TEST(ForwardEvents, a_reload_keeps_the_jobs_of_those_that_stay) {
  ForwardBench bench(plain_options(), 4);
  bench.transport.set_all({.after = 10s});
  for (std::uint32_t hash = 0; hash < 10; ++hash) bench.announce(hash, 1);
  ASSERT_EQ(bench.insight().pending, 40u);
  std::vector<UpstreamConfig> upstreams = upstreams_of(6);
  upstreams.erase(upstreams.begin() + 1);
  upstreams[1].host = "elsewhere";
  ASSERT_TRUE(bench.forwarder.reload(upstreams).ok());
  const std::size_t removed = 2 * bench.transport.count("u1");
  EXPECT_EQ(bench.insight().pending, 30u + removed / 2);
  EXPECT_EQ(bench.insight().jobs.cancelled, 10u - removed / 2);
  bench.run_for(10min);
  EXPECT_EQ(bench.insight().jobs.succeeded, 30u + removed);
  EXPECT_EQ(bench.insight().upstreams.size(), 5u);
  EXPECT_EQ(bench.transport.count("u1"), removed) << "whoever was told to it stops there";
  for (std::uint32_t hash = 0; hash < 10; ++hash) bench.announce(hash, 1);
  bench.run_for(10min);
  EXPECT_EQ(bench.transport.count("u1"), removed);
  EXPECT_EQ(bench.transport.count("u4"), 10u);
  EXPECT_EQ(bench.transport.count("u5"), 10u);
  EXPECT_TRUE(bench.forwarder.reload({}).ok());
  bench.announce(1, 1);
  EXPECT_EQ(bench.insight().jobs.succeeded, 50u + removed);
  bench.run_for(10min);
  EXPECT_EQ(bench.transport.count(Event::stopped), 50u + removed / 2);
  EXPECT_EQ(bench.insight().pending, 0u);
}

TEST(ForwardEvents, without_upstreams_nobody_is_remembered) {
  ForwardBench bench(plain_options(), 2);
  bench.transport.set_all({.after = 10s});
  EXPECT_TRUE(bench.forwarder.has_upstreams());
  bench.announce(1, 1);
  bench.announce(2, 1);
  ASSERT_EQ(bench.insight().local_peers, 2u);
  ASSERT_TRUE(bench.forwarder.reload({}).ok());
  EXPECT_FALSE(bench.forwarder.has_upstreams());
  bench.announce(3, 1);
  EXPECT_EQ(bench.insight().local_peers, 2u);
  bench.run_for(1min);
  EXPECT_EQ(bench.transport.count(Event::stopped), 4u);
  EXPECT_EQ(bench.insight().local_peers, 0u) << "whoever was known has left";
  EXPECT_EQ(bench.insight().torrents, 0u);
  EXPECT_TRUE(bench.forwarder.verify().ok());
  ASSERT_TRUE(bench.forwarder.reload(upstreams_of(2)).ok());
  bench.announce(1, 1);
  bench.run_for(1min);
  EXPECT_EQ(bench.insight().jobs.succeeded, 4u + 4u + 2u);
}

TEST(ForwardEvents, names_of_upstreams_are_unique) {
  ForwardBench bench;
  std::vector<UpstreamConfig> upstreams = upstreams_of(2);
  upstreams[1].name = "u0";
  EXPECT_EQ(bench.forwarder.reload(upstreams).code(), Code::invalid_argument);
  upstreams[1].name = "";
  EXPECT_EQ(bench.forwarder.reload(upstreams).code(), Code::invalid_argument);
  EXPECT_EQ(bench.insight().upstreams.size(), 1u) << "nothing has changed";
}

TEST(ForwardEvents, at_the_end_every_upstream_hears_that_its_peers_stopped) {
  ForwardOptions options = plain_options();
  options.queue_capacity = 100;
  options.throttle_top_n = 0;
  ForwardBench bench(options, 50);
  for (std::uint32_t hash = 0; hash < 10; ++hash) bench.announce(hash, 1);
  ASSERT_EQ(bench.sent(), 500u);
  bench.transport.set_all({.after = 10ms});
  bench.transport.set("u7", {.kind = Kind::black_hole});
  bench.forwarder.stop_all(5s);
  bench.put(99, 1);
  bench.run_for(5s - 1ns);
  EXPECT_GT(bench.insight().pending, 0u) << "the one that does not answer";
  EXPECT_EQ(bench.transport.count(Event::stopped), 500u);
  bench.run_for(1ns);
  EXPECT_EQ(bench.forwarder.pending(), 0u);
  EXPECT_EQ(bench.insight().local_peers, 0u);
  EXPECT_EQ(bench.insight().jobs.cancelled, 10u);
}

}  // namespace
}  // namespace sluice::tracker
