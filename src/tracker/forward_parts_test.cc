// SPDX-License-Identifier: MIT
// The parts of the forward engine: its queue, one upstream, the peers that upstreams name.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tracker/forward_queue.h"
#include "tracker/forward_testing.h"
#include "tracker/upstream.h"
#include "tracker/upstream_peers.h"

namespace sluice::tracker {
namespace {

struct QueueBench {
  JobTable jobs;
  ForwardQueue queue{jobs, 4};

  JobId put(UpstreamId upstream, JobPriority priority) {
    const JobId id = jobs.add(0, 0, upstream);
    jobs[id].priority = priority;
    queue.push(id);
    return id;
  }
};

TEST(ForwardQueue, gives_out_by_priority_then_by_age) {
  QueueBench bench;
  const JobId refresh = bench.put(1, JobPriority::refresh);
  const JobId first = bench.put(1, JobPriority::first);
  const JobId second = bench.put(1, JobPriority::first);
  bench.put(0, JobPriority::event);
  for (const JobId id : {first, second, refresh}) {
    ASSERT_EQ(bench.queue.first(1), id);
    bench.queue.remove(id);
  }
  EXPECT_FALSE(bench.queue.has(1));
  EXPECT_TRUE(bench.queue.has(0));
  EXPECT_FALSE(bench.queue.has(17));
  EXPECT_EQ(bench.queue.depth(), 1u);
}

TEST(ForwardQueue, the_least_is_the_newest_of_the_lowest) {
  QueueBench bench;
  EXPECT_EQ(bench.queue.least(), kNobody);
  const JobId event = bench.put(2, JobPriority::event);
  const JobId retry = bench.put(0, JobPriority::retry);
  const JobId newer = bench.put(1, JobPriority::retry);
  EXPECT_FALSE(bench.queue.full());
  const JobId first = bench.put(2, JobPriority::first);
  EXPECT_TRUE(bench.queue.full());
  for (const JobId id : {newer, retry, first, event}) {
    ASSERT_EQ(bench.queue.least(), id);
    bench.queue.remove(id);
  }
  EXPECT_EQ(bench.jobs.count(JobState::queued), 0u);
  EXPECT_EQ(bench.jobs.count(JobState::idle), 4u);
}

TEST(ForwardQueue, a_job_may_leave_from_the_middle) {
  QueueBench bench;
  const JobId a = bench.put(0, JobPriority::first);
  const JobId b = bench.put(0, JobPriority::first);
  const JobId c = bench.put(0, JobPriority::first);
  bench.queue.remove(b);
  EXPECT_EQ(bench.queue.first(0), a);
  bench.queue.remove(a);
  EXPECT_EQ(bench.queue.first(0), c);
  EXPECT_EQ(bench.queue.least(), c);
}

struct UpstreamBench {
  ManualClock clock;
  SeededRandom random{1};
  ForwardOptions options;
  Upstream upstream;

  explicit UpstreamBench(const ForwardOptions& given = {})
      : options(given), upstream({.name = "u"}, options, clock, random) {}
  Upstream::Leave ask() {
    Upstream::Admission admission = upstream.admit(clock.mono());
    if (admission.call) calls.push_back(std::move(*admission.call));
    return admission.leave;
  }
  void answer(UpstreamOutcome outcome) {
    upstream.answered(std::move(calls.back()), {.outcome = outcome, .reason = "no"}, clock.mono());
    calls.pop_back();
  }
  std::vector<Upstream::Call> calls;
};

TEST(Upstream, holds_few_slots_until_it_has_answered) {
  UpstreamBench bench;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bench.ask(), Upstream::Leave::granted) << i;
  EXPECT_EQ(bench.ask(), Upstream::Leave::when_answered);
  bench.answer(UpstreamOutcome::ok);
  for (int i = 3; i < 16; ++i) EXPECT_EQ(bench.ask(), Upstream::Leave::granted) << i;
  EXPECT_EQ(bench.ask(), Upstream::Leave::when_answered);
  bench.answer(UpstreamOutcome::unreachable);
  EXPECT_EQ(bench.ask(), Upstream::Leave::when_answered) << "15, and 4 are allowed again";
  while (!bench.calls.empty()) bench.answer(UpstreamOutcome::refused);
  EXPECT_EQ(bench.upstream.in_flight(), 0u);
}

TEST(Upstream, is_asked_at_its_rate) {
  UpstreamBench bench({.in_flight_max = 1'000, .in_flight_unproven_max = 1'000});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bench.ask(), Upstream::Leave::granted) << i;
  const auto refused = bench.upstream.admit(bench.clock.mono());
  EXPECT_EQ(refused.leave, Upstream::Leave::at_rate);
  EXPECT_EQ(refused.at, bench.clock.mono() + 10ms);
  bench.clock.advance(10ms);
  EXPECT_EQ(bench.ask(), Upstream::Leave::granted);
  EXPECT_EQ(bench.ask(), Upstream::Leave::at_rate);
  while (!bench.calls.empty()) bench.answer(UpstreamOutcome::ok);
}

TEST(Upstream, a_probe_that_is_told_to_wait_leaves_its_place_to_the_next) {
  ForwardOptions options;
  options.breaker = {.failures_in_row = 1, .jitter = 0};
  UpstreamBench bench(options);
  bench.ask();
  bench.answer(UpstreamOutcome::unreachable);
  EXPECT_EQ(bench.upstream.state(bench.clock.mono()), UpstreamState::open);
  bench.clock.advance(30s - 1ns);
  EXPECT_EQ(bench.ask(), Upstream::Leave::blocked);
  bench.clock.advance(1ns);
  EXPECT_EQ(bench.ask(), Upstream::Leave::granted);
  EXPECT_EQ(bench.ask(), Upstream::Leave::when_answered);
  bench.answer(UpstreamOutcome::busy);
  EXPECT_EQ(bench.ask(), Upstream::Leave::blocked);
  bench.clock.advance(300s);
  EXPECT_TRUE(bench.upstream.must_prove());
  EXPECT_EQ(bench.ask(), Upstream::Leave::granted);
  bench.upstream.give_up(std::move(bench.calls.back()));
  bench.calls.pop_back();
  EXPECT_EQ(bench.ask(), Upstream::Leave::granted) << "nor does one that is given up keep it";
  bench.answer(UpstreamOutcome::ok);
  EXPECT_EQ(bench.upstream.state(bench.clock.mono()), UpstreamState::ok);
}

/// `count` different peers from number `from` on.
std::string peers4(std::uint32_t from, std::uint32_t count) {
  std::string peers;
  for (std::uint32_t i = from; i < from + count; ++i) {
    const InfoHash bytes = hash_of(i);
    peers.append(reinterpret_cast<const char*>(bytes.bytes.data()), kCompactBytes4);
  }
  return peers;
}
std::set<std::string> split(const std::string& peers, std::size_t bytes_each) {
  std::set<std::string> all;
  for (std::size_t at = 0; at < peers.size(); at += bytes_each)
    all.insert(peers.substr(at, bytes_each));
  return all;
}

struct PeersBench {
  UpstreamPeers peers;
  SeededRandom random{1};

  void put(std::uint32_t upstream, PeerList list, MonoTime expires = MonoTime(1h)) {
    peers.put({.hash = hash_of(1),
               .upstream = upstream,
               .peers = std::move(list),
               .expires = expires,
               .peers_max = 200});
  }
  PeerList pick(std::size_t wanted) { return peers.pick(hash_of(1), wanted, random); }
};

TEST(UpstreamPeers, are_given_out_once_each_and_in_turn) {
  PeersBench bench;
  bench.put(0, {.v4 = peers4(0, 60)});
  bench.put(1, {.v4 = peers4(40, 60)});
  EXPECT_EQ(bench.pick(1'000).v4.size(), 100 * kCompactBytes4);
  EXPECT_EQ(bench.pick(0).size(), 0u);
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const auto some = split(bench.pick(10).v4, kCompactBytes4);
    EXPECT_EQ(some.size(), 10u);
    seen.insert(some.begin(), some.end());
  }
  EXPECT_GT(seen.size(), 90u);
}

TEST(UpstreamPeers, both_families_get_their_share) {
  PeersBench bench;
  bench.put(0, {.v4 = peers4(0, 90), .v6 = std::string(kCompactBytes6, 'a')});
  for (const std::size_t wanted : {1u, 2u, 50u, 91u, 92u}) {
    const PeerList some = bench.pick(wanted);
    EXPECT_EQ(some.size(), std::min<std::size_t>(wanted, 91));
    EXPECT_EQ(some.v6.size(), kCompactBytes6) << wanted;
  }
}

TEST(UpstreamPeers, an_answer_replaces_the_last_one_and_is_cut_to_whole_peers) {
  PeersBench bench;
  bench.put(0, {.v4 = peers4(0, 10)});
  bench.put(0, {.v4 = peers4(100, 2) + "abc", .v6 = "too short"});
  EXPECT_EQ(bench.pick(50).v4, peers4(100, 2));
  EXPECT_EQ(bench.pick(50).v6, "");
  bench.put(0, {.v4 = peers4(0, 201)});
  EXPECT_EQ(bench.pick(1'000).size(), 200u) << "peers_max";
}

TEST(UpstreamPeers, are_counted_once_each) {
  UpstreamPeers peers;
  EXPECT_EQ(peers.count(hash_of(1)), 0u);
  peers.put({.hash = hash_of(1), .upstream = 1, .peers = {.v4 = "aaaaaabbbbbb"}, .peers_max = 9});
  peers.put({.hash = hash_of(1),
             .upstream = 2,
             .peers = {.v4 = "bbbbbbcccccc", .v6 = "dddddddddddddddddd"},
             .peers_max = 9});
  EXPECT_EQ(peers.count(hash_of(1)), 4u);
  EXPECT_EQ(peers.count(hash_of(2)), 0u);
}

TEST(UpstreamPeers, expire_each_at_its_time) {
  PeersBench bench;
  bench.put(0, {.v4 = peers4(0, 1)}, MonoTime(10s));
  bench.put(1, {.v4 = peers4(1, 1)}, MonoTime(20s));
  EXPECT_EQ(bench.peers.next_expiry(), MonoTime(10s));
  bench.put(0, {.v4 = peers4(0, 1)}, MonoTime(15s));
  bench.peers.expire(MonoTime(15s - 1ns));
  EXPECT_EQ(bench.pick(9).size(), 2u);
  bench.peers.expire(MonoTime(15s));
  EXPECT_EQ(bench.pick(9).v4, peers4(1, 1));
  bench.peers.forget_upstream(1);
  EXPECT_EQ(bench.pick(9).size(), 0u);
  EXPECT_EQ(bench.peers.size(), 0u);
  EXPECT_FALSE(bench.peers.next_expiry());
}

}  // namespace
}  // namespace sluice::tracker
