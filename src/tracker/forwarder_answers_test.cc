// SPDX-License-Identifier: MIT
// What follows from each answer of an upstream.
#include <gtest/gtest.h>

#include <string>

#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

using Kind = SimMode::Kind;

UpstreamInsight upstream(const ForwardBench& bench, std::size_t number = 0) {
  return bench.insight().upstreams.at(number);
}

TEST(ForwardAnswers, the_interval_is_kept_within_reason) {
  for (const auto& [named, kept] : std::vector<std::pair<std::optional<Duration>, Duration>>{
           {std::nullopt, 1800s},
           {0s, 60s},
           {-5s, 60s},
           {60s, 60s},
           {61s, 61s},
           {24h, 24h},
           {24h + 1s, 24h},
           {std::chrono::hours(1'000'000), 24h}}) {
    ForwardBench bench;
    bench.transport.set_all({.interval = named});
    bench.announce(1, 1);
    bench.run_for(kept - 1ns);
    EXPECT_EQ(bench.sent(), 1u) << kept.count();
    bench.run_for(1ns);
    EXPECT_EQ(bench.sent(), 2u) << kept.count();
  }
}

TEST(ForwardAnswers, jitter_only_adds) {
  ForwardOptions options = plain_options();
  options.interval_jitter = 0.5;
  ForwardBench bench(options, 100);
  bench.announce(1, 1);
  ASSERT_EQ(bench.sent(), 100u);
  bench.run_for(1800s);
  EXPECT_LE(bench.sent(), 101u);
  bench.run_for(450s);
  EXPECT_GT(bench.sent(), 110u);
  EXPECT_LT(bench.sent(), 190u);
  bench.run_for(450s);
  EXPECT_EQ(bench.sent(), 200u);
}

TEST(ForwardAnswers, retry_in_minutes_is_one_job_then_and_nothing_before) {
  for (const std::uint32_t minutes : {1u, 9u}) {
    ForwardBench bench;
    bench.transport.set_all({.kind = Kind::retry, .retry_minutes = minutes});
    bench.announce(1, 1);
    bench.transport.set_all({});
    const Duration wait = std::chrono::minutes(minutes);
    bench.run_for(1s);
    for (Duration at = 2s; at < wait; at += 1s) {
      bench.announce(1, 1, at == 30s ? Event::completed : Event::none);
      bench.announce(1, 2);
      bench.run_for(1s);
    }
    EXPECT_EQ(bench.sent(), 1u);
    EXPECT_EQ(bench.insight().scheduled, 1u);
    bench.run_for(1s - 1ns);
    EXPECT_EQ(bench.sent(), 1u);
    bench.run_for(1ns);
    EXPECT_EQ(bench.sent(), 2u);
    bench.run_for(10min);
    EXPECT_EQ(bench.sent(), 2u);
    EXPECT_EQ(bench.insight().jobs.created, 1u) << "the same job";
    EXPECT_EQ(bench.insight().jobs.succeeded, 1u);
  }
}

TEST(ForwardAnswers, retry_in_minutes_is_nothing_if_the_peer_stopped) {
  ForwardBench bench;
  bench.transport.set_all({.kind = Kind::retry, .retry_minutes = 1});
  bench.announce(1, 1);
  bench.run_for(30s);
  bench.announce(1, 1, Event::stopped);
  bench.run_for(10s);
  bench.announce(1, 1, Event::stopped);
  EXPECT_EQ(bench.insight().pending, 0u);
  EXPECT_EQ(bench.insight().jobs.cancelled, 1u);
  bench.announce(1, 1, Event::started);
  bench.announce(1, 1, Event::stopped);
  bench.run_for(1h);
  EXPECT_EQ(bench.sent(), 1u);
  EXPECT_EQ(bench.insight().torrents, 0u);
  EXPECT_EQ(bench.insight().local_peers, 0u);
}

TEST(ForwardAnswers, retry_in_holds_back_what_is_in_line_already) {
  ForwardOptions options = plain_options();
  options.slots_base = 1;
  ForwardBench bench(options);
  bench.announce(1, 3);
  bench.transport.set_all({.kind = Kind::retry, .after = 1s, .retry_minutes = 1});
  bench.announce(1, 1);
  bench.announce(1, 2);
  bench.announce(1, 3, Event::completed);
  bench.transport.set_all({});
  bench.run_for(61s - 1ns);
  EXPECT_EQ(bench.sent(), 2u);
  EXPECT_EQ(bench.insight().jobs.cancelled, 2u);
  bench.run_for(1ns);
  EXPECT_EQ(bench.sent(), 3u) << "the one that was told so";
  bench.run_for(60s);
  EXPECT_EQ(bench.sent(), 5u) << "then the others";
  EXPECT_EQ(bench.transport.count(Event::completed), 1u) << "with what they had to say";
}

TEST(ForwardAnswers, a_long_retry_in_is_the_next_announce) {
  for (const std::uint32_t minutes : {10u, 15u}) {
    ForwardBench bench;
    bench.transport.set_all({.kind = Kind::retry, .retry_minutes = minutes});
    bench.announce(1, 1);
    EXPECT_EQ(bench.insight().pending, 0u);
    EXPECT_EQ(bench.insight().jobs.failed, 1u);
    const Duration wait = std::chrono::minutes(minutes);
    bench.run_for(wait - 1ns);
    bench.announce(1, 1);
    bench.announce(1, 2);
    EXPECT_EQ(bench.sent(), 1u);
    bench.run_for(1ns);
    EXPECT_EQ(bench.sent(), 2u);
  }
}

TEST(ForwardAnswers, a_retry_in_of_nothing_is_a_plain_failure) {
  for (const SimMode& mode : {SimMode{.kind = Kind::retry, .retry_minutes = 0},
                              SimMode{.kind = Kind::failure}, SimMode{.kind = Kind::not_found}}) {
    ForwardBench bench;
    bench.transport.set_all(mode);
    bench.announce(1, 1);
    EXPECT_EQ(bench.insight().jobs.failed, 1u);
    EXPECT_EQ(bench.insight().pending, 0u);
    EXPECT_EQ(upstream(bench).state, UpstreamState::ok);
    bench.run_for(60s - 1ns);
    bench.announce(1, 1);
    EXPECT_EQ(bench.sent(), 1u);
    bench.run_for(1ns);
    EXPECT_EQ(bench.sent(), 2u) << "after a minute";
    bench.run_for(120s - 1ns);
    EXPECT_EQ(bench.sent(), 2u);
    bench.run_for(1ns);
    EXPECT_EQ(bench.sent(), 3u) << "after two more";
  }
}

TEST(ForwardAnswers, a_refusal_concerns_one_torrent) {
  ForwardBench bench;
  bench.transport.set_all({.kind = Kind::not_found});
  bench.announce(1, 1);
  bench.transport.set_all({});
  bench.announce(2, 1);
  EXPECT_EQ(bench.insight().jobs.succeeded, 1u);
  bench.announce(1, 2);
  EXPECT_EQ(bench.sent(), 2u) << "another peer of the refused one waits too";
}

TEST(ForwardAnswers, never_disables_the_upstream_until_it_is_enabled) {
  ForwardBench bench(plain_options(), 2);
  bench.announce(1, 1);
  bench.transport.set("u0", {.kind = Kind::never, .after = 1s});
  for (std::uint32_t hash = 2; hash < 50; ++hash) bench.put(hash, 1);
  bench.run_for(2s);
  EXPECT_EQ(upstream(bench).state, UpstreamState::disabled);
  EXPECT_EQ(upstream(bench).reason, "go away");
  EXPECT_EQ(upstream(bench, 1).state, UpstreamState::ok);
  EXPECT_EQ(bench.insight().pending, 0u);
  const std::size_t before = bench.transport.count("u0");
  bench.announce(100, 1);
  bench.announce(1, 1, Event::completed);
  bench.announce(1, 1, Event::stopped);
  bench.run_for(24h);
  EXPECT_EQ(bench.transport.count("u0"), before);
  EXPECT_GT(bench.transport.count("u1"), before);

  bench.transport.set("u0", {});
  EXPECT_EQ(bench.forwarder.enable("nobody").code(), Code::not_found);
  EXPECT_TRUE(bench.forwarder.enable("u0").ok());
  EXPECT_EQ(upstream(bench).state, UpstreamState::ok);
  EXPECT_EQ(upstream(bench).reason, "");
  bench.announce(200, 1);
  EXPECT_GT(bench.transport.count("u0"), before);
}

TEST(ForwardAnswers, a_disabled_upstream_hears_again_of_whom_it_knew) {
  ForwardBench bench;
  bench.announce(1, 1);
  EXPECT_EQ(bench.forwarder.disable("nobody", "").code(), Code::not_found);
  EXPECT_TRUE(bench.forwarder.disable("u0", "by hand").ok());
  bench.run_for(3h);
  EXPECT_EQ(bench.sent(), 1u);
  EXPECT_TRUE(bench.forwarder.enable("u0").ok());
  bench.run();
  EXPECT_EQ(bench.sent(), 2u);
}

TEST(ForwardAnswers, a_reload_enables_who_said_never_and_not_who_was_disabled_by_hand) {
  ForwardBench bench(plain_options(), 3);
  bench.transport.set_all({.kind = Kind::never});
  bench.announce(1, 1);
  bench.transport.set_all({});
  EXPECT_TRUE(bench.forwarder.disable("u1", "by hand").ok()) << "one that is disabled already";
  EXPECT_TRUE(bench.forwarder.disable("u2", "by hand").ok());
  EXPECT_TRUE(bench.forwarder.enable("u2").ok());
  EXPECT_TRUE(bench.forwarder.disable("u2", "by hand").ok());
  std::vector<UpstreamConfig> upstreams = upstreams_of(3);
  upstreams[2].name = "renamed";
  EXPECT_TRUE(bench.forwarder.reload(upstreams).ok());
  EXPECT_EQ(upstream(bench, 0).state, UpstreamState::ok);
  for (const std::size_t number : {1u, 2u}) {
    EXPECT_EQ(upstream(bench, number).state, UpstreamState::disabled) << number;
    EXPECT_EQ(upstream(bench, number).reason, "by hand");
  }
  upstreams[2].uri = "udp://elsewhere";
  EXPECT_TRUE(bench.forwarder.reload(upstreams).ok());
  EXPECT_EQ(upstream(bench, 2).state, UpstreamState::ok) << "another one";
}

TEST(ForwardAnswers, what_waits_or_runs_for_who_is_disabled_is_cancelled_and_counted) {
  ForwardOptions options = plain_options();
  options.in_flight_max = options.in_flight_unproven_max = 2;
  ForwardBench bench(options, 2);
  bench.transport.set_all({.after = 1s});
  bench.transport.set("u0", {.kind = Kind::retry, .retry_minutes = 1});
  bench.announce(1, 1);
  bench.transport.set("u0", {.after = 1s});
  for (std::uint32_t hash = 2; hash < 7; ++hash) bench.announce(hash, 1);
  ASSERT_EQ(bench.insight().scheduled, 1u);
  ASSERT_EQ(upstream(bench).in_flight, 2u);
  EXPECT_TRUE(bench.forwarder.disable("u0", "by hand").ok());
  EXPECT_EQ(bench.insight().jobs.cancelled, 6u) << "one scheduled, two sent, three in line";
  EXPECT_EQ(upstream(bench).counts.given_up, 2u);
  EXPECT_EQ(upstream(bench).in_flight, 0u);
  EXPECT_TRUE(bench.forwarder.verify().ok());
  const std::size_t before = bench.transport.count("u0");
  for (std::uint32_t hash = 1; hash < 7; ++hash) bench.announce(hash, 1, Event::completed);
  bench.announce(2, 1, Event::stopped);
  bench.run_for(24h);
  EXPECT_EQ(bench.transport.count("u0"), before);
  EXPECT_EQ(bench.insight().pending, 0u);
  EXPECT_EQ(upstream(bench).counts.ok, 0u) << "late answers count for nothing";
  EXPECT_TRUE(bench.forwarder.enable("u0").ok());
  bench.announce(3, 1);
  EXPECT_EQ(bench.transport.count("u0"), before + 2) << "and the one that it had asked for";
}

TEST(ForwardAnswers, a_busy_upstream_is_left_alone_for_as_long_as_it_says) {
  for (const auto& [said, kept] : std::vector<std::pair<std::optional<Duration>, Duration>>{
           {std::nullopt, 300s}, {17s, 17s}, {std::chrono::hours(100), 24h}}) {
    ForwardBench bench;
    bench.transport.set_all({.kind = Kind::busy, .retry_after = said});
    bench.announce(1, 1);
    bench.transport.set_all({});
    EXPECT_EQ(upstream(bench).state, UpstreamState::suspended);
    EXPECT_EQ(upstream(bench).reason, "429");
    EXPECT_EQ(upstream(bench).next_try, kept);
    bench.run_for(kept - 1ns);
    bench.announce(2, 1);
    EXPECT_EQ(bench.sent(), 1u);
    EXPECT_EQ(bench.insight().pending, 1u) << "an announce makes no job for it";
    bench.run_for(1ns);
    EXPECT_EQ(bench.sent(), 3u) << "the one that waited, and the one that came meanwhile";
    EXPECT_EQ(upstream(bench).state, UpstreamState::ok);
    bench.announce(3, 1);
    EXPECT_EQ(bench.sent(), 4u);
  }
}

TEST(ForwardAnswers, an_unreachable_upstream_is_tried_again_soon_then_later) {
  ForwardOptions options = plain_options();
  options.breaker.failures_in_row = 100;
  ForwardBench bench(options);
  bench.transport.set_all({.kind = Kind::reset});
  bench.announce(1, 1);
  const MonoTime start = bench.clock.mono();
  bench.run_for(1min);
  std::vector<Duration> at;
  for (const auto& sent : bench.transport.sent) at.push_back(sent.at - start);
  EXPECT_EQ(at, (std::vector<Duration>{0s, 500ms, 1500ms, 3500ms, 7500ms}));
  EXPECT_EQ(bench.insight().jobs.failed, 1u);
  EXPECT_EQ(bench.insight().pending, 0u);
  bench.transport.set_all({});
  bench.run_for(7500ms);
  EXPECT_EQ(bench.sent(), 6u) << "a minute after the last";
  EXPECT_EQ(bench.insight().jobs.succeeded, 1u);
}

TEST(ForwardAnswers, a_breaker_opens_after_ten_failures_and_tries_with_one) {
  ForwardBench bench;
  for (std::uint32_t hash = 0; hash < 9; ++hash) bench.put(hash, 1);
  bench.transport.set_all({.kind = Kind::reset, .after = 1ms});
  bench.run_for(2ms);
  EXPECT_EQ(upstream(bench).state, UpstreamState::ok) << "nine";
  bench.put(9, 1);
  bench.run_for(2ms);
  EXPECT_EQ(upstream(bench).state, UpstreamState::open);
  EXPECT_NE(upstream(bench).reason.find("connection reset"), std::string::npos);
  EXPECT_EQ(bench.insight().pending, 10u);
  bench.run_for(29s);
  EXPECT_EQ(bench.sent(), 10u);
  bench.announce(100, 1);
  EXPECT_EQ(bench.insight().pending, 10u);
  bench.run_for(2s);
  EXPECT_EQ(bench.sent(), 11u) << "one tries";
  EXPECT_GT(upstream(bench).next_try, 50s) << "in vain: twice as long";
  bench.run_for(50s);
  EXPECT_EQ(bench.sent(), 11u);
  bench.transport.set_all({.after = 1ms});
  bench.run_for(15s);
  EXPECT_EQ(upstream(bench).state, UpstreamState::ok);
  EXPECT_EQ(bench.insight().pending, 0u);
  EXPECT_EQ(bench.insight().jobs.succeeded, 11u) << "all that waited, and who came meanwhile";
}

TEST(ForwardAnswers, a_minute_without_names_disables_nothing) {
  ForwardBench bench(plain_options(), 20);
  for (std::uint32_t hash = 0; hash < 20; ++hash) bench.announce(hash, 1);
  bench.transport.set_all({.kind = Kind::reset});
  for (std::uint32_t hash = 20; hash < 40; ++hash) bench.announce(hash, 1);
  bench.run_for(60s);
  bench.transport.set_all({});
  bench.run_for(120s);
  for (const UpstreamInsight& one : bench.insight().upstreams)
    EXPECT_EQ(one.state, UpstreamState::ok) << one.name;
  EXPECT_EQ(bench.insight().pending, 0u);
}

TEST(ForwardAnswers, peers_survive_a_failure_until_they_are_old) {
  ForwardBench bench(plain_options(), 2);
  bench.transport.set("u0", {.interval = 60s, .peers = "aaaa11bbbb11"});
  bench.transport.set("u1", {.peers = "bbbb11cccc11"});
  bench.announce(1, 1);
  EXPECT_EQ(bench.notified, std::vector<InfoHash>(2, hash_of(1)));
  EXPECT_EQ(bench.forwarder.peers_of(hash_of(1), 50).size(), 3u) << "without doubles";
  EXPECT_EQ(bench.forwarder.peers_of(hash_of(2), 50).size(), 0u);
  bench.transport.set_all({.kind = Kind::failure});
  bench.run_for(59min);
  EXPECT_EQ(bench.forwarder.peers_of(hash_of(1), 50).size(), 3u);
  bench.run_for(1min);
  EXPECT_EQ(bench.forwarder.peers_of(hash_of(1), 50).size(), 0u);
}

TEST(ForwardAnswers, response_times_are_a_moving_mean) {
  ForwardBench bench;
  bench.transport.set_all({.after = 100ms});
  bench.announce(1, 1);
  bench.run_for(1s);
  EXPECT_EQ(upstream(bench).response_time, 100ms);
  bench.transport.set_all({.after = 200ms});
  bench.announce(2, 1);
  bench.run_for(1s);
  EXPECT_EQ(upstream(bench).response_time, 115ms);
  EXPECT_EQ(upstream(bench).counts.sent, 2u);
  EXPECT_EQ(upstream(bench).counts.ok, 2u);
}

TEST(ForwardAnswers, options_are_judged) {
  EXPECT_TRUE(validate(ForwardOptions()).ok());
  ForwardOptions options;
  for (const auto& [attempts, code] :
       std::vector<std::pair<std::uint32_t, Code>>{{0, Code::invalid_argument},
                                                   {1, Code::ok},
                                                   {255, Code::ok},
                                                   {256, Code::invalid_argument}}) {
    options.attempts_max = attempts;
    EXPECT_EQ(validate(options).code(), code) << attempts;
  }
  options = {};
  options.slots_max = options.slots_base - 1;
  EXPECT_EQ(validate(options).code(), Code::invalid_argument);
  options = {};
  options.interval_jitter = 1.5;
  EXPECT_EQ(validate(options).code(), Code::invalid_argument);
  options = {};
  options.retry.factor = 0.5;
  EXPECT_EQ(validate(options).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace sluice::tracker
