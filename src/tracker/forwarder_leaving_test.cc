// SPDX-License-Identifier: MIT
// An upstream that is removed hears that its peers have stopped, and is forgotten.
#include <gtest/gtest.h>

#include <set>

#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

using Kind = SimMode::Kind;

/// What was sent to an upstream from `first` on.
std::vector<Announce> told_since(const ForwardBench& bench, const std::string& upstream,
                                 std::size_t first) {
  std::vector<Announce> told;
  for (std::size_t i = first; i < bench.sent(); ++i)
    if (bench.transport.sent[i].upstream == upstream)
      told.push_back(bench.transport.sent[i].announce);
  return told;
}

std::set<std::string> listed(const ForwardBench& bench) {
  std::set<std::string> names;
  for (const UpstreamInsight& upstream : bench.insight().upstreams) names.insert(upstream.name);
  return names;
}

UpstreamInsight shown(const ForwardBench& bench, const std::string& name) {
  for (UpstreamInsight& upstream : bench.insight().upstreams)
    if (upstream.name == name) return upstream;
  ADD_FAILURE() << name << " is not listed";
  return {};
}

void load(ForwardBench& bench, const std::vector<UpstreamConfig>& upstreams) {
  ASSERT_TRUE(bench.forwarder.reload(upstreams).ok());
}

TEST(ForwardLeaving, it_hears_of_each_of_its_peers_that_it_stopped_and_nothing_else) {
  ForwardBench bench(plain_options(), 2);
  for (std::uint32_t hash = 0; hash < 3; ++hash)
    for (std::uint32_t peer = 0; peer < 4; ++peer) bench.announce(hash, peer);
  const std::size_t first = bench.sent();
  bench.transport.set_all({.after = 1s});
  load(bench, upstreams_of(1));
  bench.run();
  EXPECT_EQ(shown(bench, "u1").state, UpstreamState::leaving);
  EXPECT_EQ(shown(bench, "u1").reason, "removed");
  bench.announce(0, 0, Event::completed);
  bench.announce(7, 7);
  bench.run_for(1min);
  std::set<std::pair<InfoHash, PeerId>> stopped;
  for (const Announce& told : told_since(bench, "u1", first)) {
    EXPECT_EQ(told.event, Event::stopped);
    EXPECT_EQ(told.wanted, 0u);
    EXPECT_TRUE(stopped.insert({told.hash, told.peer}).second) << "it was told twice";
  }
  EXPECT_EQ(stopped.size(), 12u);
  EXPECT_EQ(told_since(bench, "u0", first).size(), 2u) << "the one that stays";
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
  EXPECT_EQ(bench.insight().local_peers, 13u);
}

TEST(ForwardLeaving, what_is_in_flight_is_waited_for_and_taken_back) {
  ForwardBench bench;
  bench.transport.set_all({.after = 10s, .peers = std::string("\x01\x02\x03\x04\x00\x50", 6)});
  bench.announce(1, 1);
  load(bench, {});
  EXPECT_FALSE(bench.forwarder.has_upstreams());
  bench.run_for(9s);
  EXPECT_EQ(bench.sent(), 1u);
  bench.run_for(1s);
  ASSERT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.transport.sent[1].announce.event, Event::stopped);
  EXPECT_EQ(bench.forwarder.peers_known(hash_of(1)), 0u) << "nobody asks it any more";
  EXPECT_TRUE(bench.notified.empty());
  bench.run_for(10s);
  EXPECT_EQ(bench.insight().local_peers, 0u);
  EXPECT_EQ(bench.insight().upstreams.size(), 0u);
}

TEST(ForwardLeaving, the_last_of_all_hears_it_once) {
  ForwardBench bench;
  bench.announce(1, 1);
  load(bench, {});
  bench.run_for(1min);
  EXPECT_EQ(bench.transport.count(Event::stopped), 1u);
  EXPECT_EQ(bench.insight().jobs.cancelled, 0u);
  EXPECT_EQ(bench.insight().local_peers, 0u);
}

TEST(ForwardLeaving, what_was_not_said_yet_is_not_said) {
  ForwardOptions options = plain_options();
  options.in_flight_max = options.in_flight_unproven_max = 1;
  ForwardBench bench(options);
  bench.transport.set_all({.after = 10s});
  for (std::uint32_t hash = 0; hash < 5; ++hash) bench.announce(hash, 1);
  load(bench, {});
  EXPECT_EQ(bench.insight().jobs.cancelled, 4u);
  bench.run_for(1min);
  EXPECT_EQ(bench.sent(), 2u) << "one announce, and its end";
}

TEST(ForwardLeaving, one_that_does_not_answer_is_forgotten_when_its_time_is_over) {
  ForwardOptions options = plain_options();
  options.timeout = 1h;
  ForwardBench bench(options, 2);
  bench.announce(1, 1);
  bench.transport.set("u1", {.kind = Kind::black_hole});
  load(bench, upstreams_of(1));
  bench.run_for(options.farewell - 1ns);
  EXPECT_EQ(listed(bench).size(), 2u);
  EXPECT_EQ(bench.insight().running, 1u);
  bench.run_for(1ns);
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
  EXPECT_EQ(bench.insight().pending, 0u);
  EXPECT_EQ(bench.insight().jobs.cancelled, 1u);
}

TEST(ForwardLeaving, one_that_nobody_can_reach_is_forgotten) {
  ForwardBench bench(plain_options(), 2);
  for (std::uint32_t hash = 0; hash < 20; ++hash) bench.announce(hash, 1);
  bench.transport.set("u1", {.kind = Kind::reset});
  load(bench, upstreams_of(1));
  bench.run_for(2min);
  EXPECT_LE(bench.insight().pending, 1u) << "who tries whether it is back";
  bench.run_for(3min);
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
  EXPECT_EQ(bench.insight().pending, 0u);
}

TEST(ForwardLeaving, one_without_peers_or_that_is_disabled_goes_at_once) {
  ForwardBench bench(plain_options(), 3);
  ASSERT_TRUE(bench.forwarder.disable("u2", "by hand").ok());
  load(bench, {upstreams_of(3)[0], upstreams_of(3)[2]});
  EXPECT_EQ(listed(bench), (std::set<std::string>{"u0", "u2"}));
  ASSERT_TRUE(bench.forwarder.enable("u2").ok());
  bench.announce(1, 1);
  const std::size_t first = bench.sent();
  ASSERT_EQ(first, 2u);
  ASSERT_TRUE(bench.forwarder.disable("u2", "by hand").ok());
  load(bench, upstreams_of(1));
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
  bench.run_for(1min);
  EXPECT_EQ(told_since(bench, "u2", first).size(), 0u);
}

TEST(ForwardLeaving, one_that_comes_back_keeps_the_peers_that_it_was_not_told_of) {
  ForwardOptions options = plain_options();
  options.in_flight_max = options.in_flight_unproven_max = 1;
  ForwardBench bench(options);
  for (std::uint32_t hash = 0; hash < 3; ++hash) bench.announce(hash, 1);
  bench.transport.set_all({.after = 10s});
  const std::vector<UpstreamConfig> other = {{.name = "other", .uri = "udp://other"}};
  load(bench, other);
  bench.run_for(15s);
  ASSERT_EQ(bench.transport.count(Event::stopped), 2u) << "one is done, one in flight";
  load(bench, upstreams_of(1));
  EXPECT_EQ(shown(bench, "u0").state, UpstreamState::ok);
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
  std::size_t first = bench.sent();
  bench.run_for(20s);
  const std::vector<Announce> told = told_since(bench, "u0", first);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].event, Event::started) << "it heard that this one stopped, which it did not";
  EXPECT_EQ(told[1].event, Event::none) << "it still knows this one";
  first = bench.sent();
  for (std::uint32_t hash = 0; hash < 3; ++hash) bench.announce(hash, 1);
  bench.run_for(20s);
  ASSERT_EQ(told_since(bench, "u0", first).size(), 1u) << "the one that is done";
  EXPECT_EQ(told_since(bench, "u0", first)[0].event, Event::started);
  bench.run_for(1h);
  EXPECT_EQ(bench.transport.count(Event::stopped), 2u);
  EXPECT_EQ(bench.insight().local_peers, 3u);
}

TEST(ForwardLeaving, one_that_comes_back_hears_at_once_of_those_who_did_leave) {
  ForwardOptions options = plain_options();
  options.in_flight_max = options.in_flight_unproven_max = 1;
  ForwardBench bench(options);
  for (std::uint32_t hash = 0; hash < 3; ++hash) bench.announce(hash, 1);
  bench.transport.set_all({.after = 1s});
  load(bench, {{.name = "other", .uri = "udp://other"}});
  bench.run();
  bench.put(2, 1, Event::stopped);
  load(bench, upstreams_of(1));
  bench.run_for(1s);
  ASSERT_EQ(bench.transport.count(Event::stopped), 2u);
  EXPECT_EQ(bench.transport.sent.back().announce.hash, hash_of(2));
}

TEST(ForwardLeaving, another_name_for_the_same_uri_is_the_same_upstream) {
  ForwardBench bench(plain_options(), 2);
  bench.announce(1, 1);
  const std::size_t first = bench.sent();
  std::vector<UpstreamConfig> upstreams = upstreams_of(2);
  upstreams[1].name = "better";
  load(bench, upstreams);
  bench.announce(1, 1, Event::completed);
  EXPECT_EQ(listed(bench), (std::set<std::string>{"better", "u0"}));
  ASSERT_EQ(told_since(bench, "better", first).size(), 1u);
  EXPECT_EQ(told_since(bench, "better", first)[0].event, Event::completed);
  EXPECT_EQ(shown(bench, "better").counts.sent, 2u);
}

TEST(ForwardLeaving, a_tracker_that_another_entry_tells_keeps_the_peers) {
  ForwardBench bench(plain_options(), 2);
  std::vector<UpstreamConfig> upstreams = upstreams_of(2);
  upstreams[1].uri = upstreams[0].uri;
  load(bench, upstreams);
  bench.announce(1, 1);
  ASSERT_EQ(bench.sent(), 2u);
  load(bench, upstreams_of(1));
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
  bench.run_for(1min);
  EXPECT_EQ(bench.sent(), 2u);
}

TEST(ForwardLeaving, its_name_may_be_taken) {
  ForwardBench bench(plain_options(), 2);
  bench.announce(1, 1);
  bench.transport.set_all({.after = 1min});
  load(bench, upstreams_of(1));
  bench.run();
  load(bench, {upstreams_of(1)[0], {.name = "u1", .uri = "udp://elsewhere"}});
  EXPECT_EQ(listed(bench), (std::set<std::string>{"u0", "u1", "u1 (leaving)"}));
  EXPECT_EQ(shown(bench, "u1").uri, "udp://elsewhere");
  EXPECT_EQ(shown(bench, "u1").counts.sent, 0u);
  EXPECT_EQ(shown(bench, "u1 (leaving)").uri, "udp://u1");
  bench.run_for(1min);
  EXPECT_EQ(listed(bench), (std::set<std::string>{"u0", "u1"}));
  EXPECT_EQ(bench.transport.count(Event::stopped), 1u);
}

TEST(ForwardLeaving, another_uri_under_the_same_name_is_another_upstream) {
  ForwardBench bench(plain_options(), 2);
  bench.transport.set("u1", {.interval = 60s, .peers = "aaaa11"});
  bench.announce(1, 1);
  const std::size_t first = bench.sent();
  bench.transport.set_all({.after = 1s});
  std::vector<UpstreamConfig> upstreams = upstreams_of(2);
  upstreams[1].uri = "udp://elsewhere";
  load(bench, upstreams);
  EXPECT_EQ(bench.forwarder.peers_known(hash_of(1)), 0u) << "what the old one named";
  EXPECT_EQ(shown(bench, "u1 (leaving)").state, UpstreamState::leaving);
  EXPECT_EQ(shown(bench, "u1").state, UpstreamState::ok);
  EXPECT_EQ(shown(bench, "u1").counts.sent, 0u);
  bench.run_for(10s);
  const std::vector<Announce> old = told_since(bench, "u1 (leaving)", first);
  ASSERT_EQ(old.size(), 1u);
  EXPECT_EQ(old[0].event, Event::stopped);
  bench.announce(1, 1);
  const std::vector<Announce> now = told_since(bench, "u1", first);
  ASSERT_EQ(now.size(), 1u);
  EXPECT_EQ(now[0].event, Event::started) << "it has not heard of the peer yet";
  EXPECT_EQ(listed(bench), (std::set<std::string>{"u0", "u1"}));
}

TEST(ForwardLeaving, its_name_may_be_taken_again_and_again) {
  ForwardBench bench;
  bench.transport.set_all({.after = 1min});
  for (const char* uri : {"udp://a", "udp://b", "udp://c"}) {
    load(bench, {{.name = "u0", .uri = uri}});
    bench.announce(1, 1);
  }
  EXPECT_EQ(listed(bench), (std::set<std::string>{"u0", "u0 (leaving)", "u0 (leaving) (leaving)"}));
  EXPECT_EQ(shown(bench, "u0").uri, "udp://c");
  load(bench, {{.name = "u0", .uri = "udp://a"}});
  EXPECT_EQ(shown(bench, "u0").uri, "udp://a") << "it comes back under its name";
  EXPECT_EQ(shown(bench, "u0").counts.sent, 1u);
  bench.run_for(3min);
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
  EXPECT_EQ(bench.transport.count(Event::stopped), 2u);
}

TEST(ForwardLeaving, two_may_change_their_names_with_each_other) {
  ForwardBench bench(plain_options(), 2);
  bench.transport.set("u0", {.interval = 60s});
  bench.announce(1, 1);
  bench.run_for(60s);
  const std::size_t before = bench.sent();
  load(bench, {{.name = "u1", .uri = "udp://u0"}, {.name = "u0", .uri = "udp://u1"}});
  EXPECT_EQ(listed(bench), (std::set<std::string>{"u0", "u1"}));
  EXPECT_EQ(shown(bench, "u1").uri, "udp://u0");
  EXPECT_EQ(shown(bench, "u1").counts.sent, 2u);
  EXPECT_EQ(shown(bench, "u0").counts.sent, 1u);
  bench.announce(1, 1);
  EXPECT_EQ(bench.sent(), before) << "both know the peer";
}

TEST(ForwardLeaving, it_leaves_the_queue_to_those_that_stay) {
  ForwardOptions options = plain_options();
  options.queue_capacity = 10;
  options.throttle_top_n = 0;
  options.slots_base = options.slots_max = 4;
  options.in_flight_max = options.in_flight_unproven_max = 2;
  ForwardBench bench(options, 2);
  for (std::uint32_t hash = 0; hash < 30; ++hash) bench.announce(hash, 1);
  ASSERT_EQ(bench.sent(), 60u);
  bench.transport.set_all({.after = 1s});
  load(bench, upstreams_of(1));
  EXPECT_EQ(bench.insight().depth, 2u);
  for (std::uint32_t hash = 30; hash < 40; ++hash) bench.announce(hash, 1);
  EXPECT_EQ(bench.insight().jobs.dropped_total(), 0u) << "there was room for each";
  const std::size_t first = bench.sent();
  bench.run_for(5s);
  EXPECT_EQ(told_since(bench, "u0", first).size(), 8u) << "two were told before";
  bench.run_for(15s);
  EXPECT_EQ(bench.transport.count(Event::stopped), 30u) << "and two each second were seen off";
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
}

TEST(ForwardLeaving, it_gets_through_a_queue_that_stays_full) {
  ForwardOptions options = plain_options();
  options.queue_capacity = 4;
  options.throttle_top_n = 0;
  options.timeout = 1h;
  options.in_flight_max = options.in_flight_unproven_max = 2;
  ForwardBench bench(options, 2);
  for (std::uint32_t hash = 0; hash < 9; ++hash) bench.announce(hash, 1);
  bench.transport.set("u0", {.kind = Kind::black_hole});
  for (std::uint32_t hash = 10; hash < 20; ++hash) bench.announce(hash, 1);
  ASSERT_EQ(bench.insight().depth, 4u);
  const std::size_t known = bench.transport.count("u1");
  ASSERT_GE(known, 9u);
  load(bench, upstreams_of(1));
  bench.run_for(1s);
  EXPECT_EQ(bench.transport.count(Event::stopped), known);
  EXPECT_EQ(listed(bench), std::set<std::string>{"u0"});
}

TEST(ForwardLeaving, at_the_end_it_is_told_with_the_others) {
  ForwardBench bench(plain_options(), 2);
  for (std::uint32_t hash = 0; hash < 5; ++hash) bench.announce(hash, 1);
  bench.transport.set_all({.after = 1s});
  bench.transport.set("u1", {.kind = Kind::black_hole});
  load(bench, upstreams_of(1));
  bench.run();
  bench.forwarder.stop_all(3s);
  bench.run_for(3s);
  EXPECT_EQ(bench.transport.count(Event::stopped), 10u);
  EXPECT_EQ(bench.forwarder.pending(), 0u);
  EXPECT_EQ(bench.insight().local_peers, 0u);
}

}  // namespace
}  // namespace sluice::tracker
