// SPDX-License-Identifier: MIT
// Random peers, upstreams and answers. Whatever is sent is judged by rules that are kept apart from
// the engine, and in the end everybody has heard what they should.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tests/support/run_size.h"
#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

constexpr std::uint32_t kHashes = 8;
constexpr std::uint32_t kPeers = 4;
constexpr std::size_t kUpstreams = 6;

/// What may be sent, by what has happened so far. An upstream is known by its uri.
class Rules {
 public:
  using PeerKey = std::pair<InfoHash, PeerId>;
  using Key = std::tuple<std::string, InfoHash, PeerId>;

  struct Told {
    bool known = false;
    bool running = false;
    bool lapsed = false;  ///< The peer has left since, and the upstream may not have heard of it.
    MonoTime due = {};
  };
  struct Site {
    std::uint64_t life = 0;  ///< Answers of an earlier one count for nothing.
    bool disabled = false;
    bool by_hand = false;
    bool leaving = false;
    MonoTime busy_until = {};
    std::map<InfoHash, MonoTime> not_before = {};
  };

  explicit Rules(bool by_peer) : by_peer_(by_peer) {}

  bool alive(const InfoHash& hash, const PeerId& peer) const {
    return alive_.contains({hash, peer});
  }
  void announced(const InfoHash& hash, const PeerId& peer) { alive_.insert({hash, peer}); }
  void left(const InfoHash& hash, const PeerId& peer) {
    alive_.erase({hash, peer});
    for (auto& [key, told] : told_) {
      if (std::get<1>(key) != hash || std::get<2>(key) != peer) continue;
      told.due = {};
      told.lapsed = true;
      if (sites[std::get<0>(key)].disabled) told.known = false;
    }
  }
  /// What runs there will not be waited for, and whoever has left is not kept.
  void disabled(const std::string& upstream, bool by_hand) {
    Site& site = sites[upstream];
    site.disabled = true;
    site.by_hand = by_hand;
    ++site.life;
    for (auto& [key, told] : told_) {
      if (std::get<0>(key) != upstream) continue;
      told.running = false;
      told.due = {};
      if (!alive(std::get<1>(key), std::get<2>(key))) told.known = false;
    }
  }
  /// It is to hear that its peers have stopped, and may not.
  void leaves(const std::string& upstream) {
    sites[upstream].leaving = true;
    for (auto& [key, told] : told_) {
      if (std::get<0>(key) != upstream) continue;
      told.due = {};
      told.lapsed = true;
    }
  }
  void removed(const std::string& upstream) {
    const std::uint64_t life = sites[upstream].life + 1;
    sites[upstream] = {.life = life};
    std::erase_if(told_, [&](const auto& entry) { return std::get<0>(entry.first) == upstream; });
  }

  void sent(const UpstreamRequest& request, MonoTime now) {
    const Announce& announce = request.announce;
    const Site& site = sites[request.upstream->uri];
    Told& told = told_[key_of(request)];
    EXPECT_FALSE(told.running) << "twice at the same time";
    EXPECT_FALSE(site.disabled);
    EXPECT_GE(now, site.busy_until);
    if (const auto until = site.not_before.find(announce.hash); until != site.not_before.end()) {
      EXPECT_GE(now, until->second) << "the upstream asked for patience";
    }
    const bool parts = site.leaving || !alive(announce.hash, announce.peer);
    EXPECT_EQ(announce.event == Event::stopped, parts);
    if (announce.event == Event::stopped || announce.event == Event::completed) {
      EXPECT_TRUE(told.known);
    } else {
      if (announce.event == Event::started && told.lapsed) told.known = false;
      EXPECT_EQ(announce.event == Event::started, !told.known);
      if (by_peer_) {
        EXPECT_GE(now, told.due);
      }
    }
    told.running = true;
    ++count;
  }
  void answered(const UpstreamRequest& request, const UpstreamResult& result, MonoTime now) {
    Site& site = sites[request.upstream->uri];
    Told& told = told_[key_of(request)];
    told.running = false;
    told.due = {};
    const bool stops = request.announce.event == Event::stopped;
    if (result.outcome == UpstreamOutcome::ok) {
      told.known = !stops;
      told.lapsed = site.leaving || !alive(request.announce.hash, request.announce.peer);
      if (!told.lapsed && !stops)
        told.due = now + std::max<Duration>(result.interval.value_or(1800s), 60s);
    }
    if (result.outcome == UpstreamOutcome::refused && stops) told.known = false;
    if (result.outcome == UpstreamOutcome::busy)
      site.busy_until = now + result.retry_after.value_or(300s);
    if (result.retry_in && result.retry_in->after.count() > 0)
      site.not_before[request.announce.hash] = now + result.retry_in->after;
    if (result.retry_in && result.retry_in->never) disabled(request.upstream->uri, false);
  }
  /// Of those that are there: who does not know a peer that is.
  std::size_t ignorant(const std::set<std::string>& upstreams) {
    std::size_t missing = 0;
    for (const auto& [hash, peer] : alive_)
      for (const std::string& upstream : upstreams)
        missing += told_[{upstream, hash, peer}].known ? 0 : 1;
    return missing;
  }

  std::map<std::string, Site> sites;
  std::uint64_t count = 0;

 private:
  static Key key_of(const UpstreamRequest& request) {
    return {request.upstream->uri, request.announce.hash, request.announce.peer};
  }
  const bool by_peer_;
  std::set<PeerKey> alive_;
  std::map<Key, Told> told_;
};

/// Answers by chance, after a time by chance.
class RandomTransport final : public UpstreamTransport {
 public:
  RandomTransport(const Clock& clock, Random& random, Rules& rules)
      : clock_(clock), random_(random), rules_(rules) {}

  void announce(const UpstreamRequest& request, Done done) override {
    rules_.sent(request, clock_.mono());
    const std::uint64_t life = rules_.sites[request.upstream->uri].life;
    const Duration after = random_.chance(0.1) ? 0ms : Duration(random_.below(2'000) * 1ms);
    answers_.emplace(clock_.mono() + after, Answer{request, life, std::move(done)});
  }
  MonoTime next_due() const { return answers_.empty() ? MonoTime::max() : answers_.begin()->first; }
  void deliver() {
    while (next_due() <= clock_.mono()) {
      const Answer answer = answers_.begin()->second;
      answers_.erase(answers_.begin());
      UpstreamResult result = result_of();
      if (rules_.sites[answer.request.upstream->uri].life == answer.life)
        rules_.answered(answer.request, result, clock_.mono());
      answer.done(std::move(result));
    }
  }
  bool all_well = false;

 private:
  struct Answer {
    UpstreamRequest request;
    std::uint64_t life = 0;
    Done done;
  };
  UpstreamResult result_of() {
    const std::uint64_t die = all_well ? 0 : random_.below(200);
    if (die < 100) return {.outcome = UpstreamOutcome::ok, .interval = random_.below(4'000) * 1s};
    if (die < 150) return {.outcome = UpstreamOutcome::unreachable, .reason = "reset"};
    UpstreamResult result{.outcome = UpstreamOutcome::refused, .reason = "no"};
    if (die < 160) return result;
    if (die < 170) {
      result.outcome = UpstreamOutcome::busy;
      if (random_.chance(0.5)) result.retry_after = random_.below(100) * 1s;
    } else if (die < 198) {
      result.retry_in = RetryIn{.after = std::chrono::minutes(random_.below(13))};
    } else {
      result.retry_in = RetryIn{.never = true};
    }
    return result;
  }

  const Clock& clock_;
  Random& random_;
  Rules& rules_;
  std::multimap<MonoTime, Answer> answers_;
};

ForwardOptions tight_options(std::uint64_t seed) {
  ForwardOptions options;
  options.mode = seed % 3 == 0 ? AnnounceMode::hash : AnnounceMode::peer;
  options.refuse_when_full = seed % 4 == 1;
  options.queue_capacity = 20;
  options.slots_base = 6;
  options.slots_max = 9;
  options.in_flight_max = 3;
  options.in_flight_unproven_max = 2;
  options.upstream_rate = {.tokens = 5, .per = 1s, .burst = 5};
  options.breaker.failures_in_row = 4;
  options.upstreams_per_announce_max = 4;
  options.throttle_top_n = 2;
  return options;
}

struct ModelBench {
  ManualClock clock;
  SeededRandom random;
  const ForwardOptions options;
  Rules rules;
  RandomTransport transport{clock, random, rules};
  Forwarder forwarder;
  std::set<std::string> upstreams;

  explicit ModelBench(std::uint64_t seed)
      : random(seed),
        options(tight_options(seed)),
        rules(options.mode == AnnounceMode::peer),
        forwarder(options, {.clock = &clock, .random = &random, .transport = &transport}) {
    reload(false);
  }

  void run_for(Duration duration) {
    const MonoTime end = clock.mono() + duration;
    for (;;) {
      const MonoTime due = forwarder.run_due();
      const MonoTime next = std::min(due, transport.next_due());
      if (next > end) break;
      if (next > clock.mono()) clock.advance(next - clock.mono());
      transport.deliver();
    }
    clock.advance(end - clock.mono());
  }
  void announce(std::uint32_t hash, std::uint32_t peer, Event event) {
    const bool stops = event == Event::stopped;
    const auto refusal =
        forwarder.on_announce({.hash = hash_of(hash), .peer = peer_of(peer), .event = event},
                              random.chance(0.3) ? HashSeen::first : HashSeen::before);
    EXPECT_TRUE(!refusal || options.refuse_when_full);
    if (stops)
      rules.left(hash_of(hash), peer_of(peer));
    else if (!refusal)
      rules.announced(hash_of(hash), peer_of(peer));
  }
  void reload(bool by_chance) {
    std::set<std::string> there;
    for (const UpstreamInsight& upstream : forwarder.insight().upstreams)
      there.insert(upstream.uri);
    std::vector<UpstreamConfig> list;
    std::set<std::string> uris;
    for (UpstreamConfig& config : upstreams_of(kUpstreams)) {
      if (by_chance && random.chance(0.2)) continue;
      if (by_chance && random.chance(0.2)) config.uri += "/moved";
      list.push_back(config);
      uris.insert(config.uri);
      if (!there.contains(config.uri)) rules.removed(config.uri);
      Rules::Site& site = rules.sites[config.uri];
      site.disabled = site.disabled && site.by_hand;
      site.leaving = false;
    }
    for (const std::string& before : upstreams)
      if (!uris.contains(before)) rules.leaves(before);
    upstreams = uris;
    EXPECT_TRUE(forwarder.reload(list).ok());
  }
  /// Of the one that has the name now.
  std::string uri_of(const std::string& name) const {
    for (const UpstreamInsight& upstream : forwarder.insight().upstreams)
      if (upstream.name == name && upstream.state != UpstreamState::leaving) return upstream.uri;
    return {};
  }
  void enable(const std::string& upstream) {
    if (forwarder.enable(upstream).ok()) rules.sites[uri_of(upstream)].disabled = false;
  }
  void step() {
    const auto hash = static_cast<std::uint32_t>(random.below(kHashes));
    const auto peer = static_cast<std::uint32_t>(random.below(kPeers));
    const std::string upstream = "u" + std::to_string(random.below(kUpstreams));
    const std::uint64_t die = random.below(1'000);
    if (die < 500) return announce(hash, peer, Event::none);
    if (die < 550) return announce(hash, peer, Event::completed);
    if (die < 650) return announce(hash, peer, Event::stopped);
    if (die < 680) {
      forwarder.peer_gone(hash_of(hash), peer_of(peer));
      return rules.left(hash_of(hash), peer_of(peer));
    }
    if (die < 690) {
      if (forwarder.disable(upstream, "by hand").ok()) rules.disabled(uri_of(upstream), true);
      return;
    }
    if (die < 710) {
      return enable(upstream);
    }
    if (die < 715) return reload(true);
    if (die < 730) return clock.step_wall(Duration(random.below(7'200) * 1s) - 1h);
    if (die < 735) return run_for(Duration(random.below(3'600) * 1s));
    run_for(Duration(random.below(3'000) * 1ms));
  }
};

void run_model(std::uint64_t seed, std::uint64_t steps) {
  SCOPED_TRACE("rerun with SLUICE_SEED=" + std::to_string(seed));
  ModelBench bench(seed);
  for (std::uint64_t i = 0; i < steps; ++i) {
    bench.step();
    const Status status = bench.forwarder.verify();
    ASSERT_TRUE(status.ok()) << status.to_string() << " at step " << i;
    ASSERT_LE(bench.forwarder.insight().depth, 20u);
    if (::testing::Test::HasFailure()) FAIL() << "at step " << i;
  }
  bench.transport.all_well = true;
  bench.reload(false);
  for (const UpstreamConfig& config : upstreams_of(kUpstreams)) bench.enable(config.name);
  bench.run_for(3h);
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t hash = 0; hash < kHashes; ++hash)
      for (std::uint32_t peer = 0; peer < kPeers; ++peer) bench.announce(hash, peer, Event::none);
    bench.run_for(1min);
  }
  if (bench.options.mode == AnnounceMode::peer) {
    EXPECT_EQ(bench.rules.ignorant(bench.upstreams), 0u);
  }
  for (std::uint32_t hash = 0; hash < kHashes; ++hash)
    for (std::uint32_t peer = 0; peer < kPeers; ++peer) bench.announce(hash, peer, Event::stopped);
  bench.run_for(10min);
  const ForwardInsight end = bench.forwarder.insight();
  EXPECT_EQ(end.pending, 0u);
  EXPECT_EQ(end.local_peers, 0u);
  EXPECT_EQ(end.torrents, 0u);
  EXPECT_TRUE(bench.forwarder.verify().ok());
  EXPECT_GT(bench.rules.count, steps / 20);
}

TEST(ForwardModel, random_operations_keep_the_rules) {
  const std::uint64_t steps = test::RunSize{2'000, 20'000, 1'000'000}.pick();
  const std::uint64_t first = test::seed_or(1);
  for (std::uint64_t seed = first; seed < first + 12 && !HasFailure(); ++seed)
    run_model(seed, steps / 12);
}

}  // namespace
}  // namespace sluice::tracker
