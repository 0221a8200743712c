// SPDX-License-Identifier: MIT
// What the tests of the forward engine share: upstreams that answer on a clock that stands still.
#pragma once

#include <gtest/gtest.h>
#include <sluice/clock.h>
#include <sluice/random.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracker/forwarder.h"

namespace sluice::tracker {

using namespace std::chrono_literals;

/// How an upstream answers.
struct SimMode {
  enum class Kind { ok, black_hole, reset, not_found, busy, failure, retry, never };
  Kind kind = Kind::ok;
  Duration after = 0ms;
  std::optional<Duration> interval = 1800s;
  std::optional<Duration> min_interval = {};
  std::uint32_t retry_minutes = 0;
  std::optional<Duration> retry_after = {};
  std::string peers = {};  ///< IPv4, compact.
  std::string tracker_id = {};
};

class SimTransport final : public UpstreamTransport {
 public:
  explicit SimTransport(const Clock& clock) : clock_(clock) {}

  struct Sent {
    MonoTime at = {};
    std::string upstream = {};
    Announce announce = {};
    std::string tracker_id = {};
  };

  void announce(const UpstreamRequest& request, Done done) override {
    const SimMode& mode = mode_of(request.upstream->name);
    sent.push_back({.at = clock_.mono(),
                    .upstream = request.upstream->name,
                    .announce = request.announce,
                    .tracker_id = request.tracker_id});
    const bool hangs = mode.kind == SimMode::Kind::black_hole;
    const MonoTime due = clock_.mono() + (hangs ? request.timeout : mode.after);
    answers_.emplace(due, std::pair(std::move(done), answer_of(mode)));
    most_in_flight = std::max(most_in_flight, answers_.size());
  }

  void set(const std::string& upstream, SimMode mode) { modes_[upstream] = std::move(mode); }
  void set_all(SimMode mode) {
    modes_.clear();
    usual_ = std::move(mode);
  }
  MonoTime next_due() const { return answers_.empty() ? MonoTime::max() : answers_.begin()->first; }
  /// Answers whatever is due.
  void deliver() {
    while (!answers_.empty() && answers_.begin()->first <= clock_.mono()) {
      auto [done, result] = std::move(answers_.begin()->second);
      answers_.erase(answers_.begin());
      done(std::move(result));
      ++answered;
    }
  }
  std::size_t in_flight() const { return answers_.size(); }
  std::size_t count(const std::string& upstream) const {
    return static_cast<std::size_t>(std::ranges::count(sent, upstream, &Sent::upstream));
  }
  std::size_t count(Event event) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(sent, [&](const Sent& s) { return s.announce.event == event; }));
  }

  std::vector<Sent> sent;
  std::size_t answered = 0;
  std::size_t most_in_flight = 0;

 private:
  const SimMode& mode_of(const std::string& upstream) const {
    const auto found = modes_.find(upstream);
    return found == modes_.end() ? usual_ : found->second;
  }
  static UpstreamResult answer_of(const SimMode& mode) {
    UpstreamResult result;
    using enum SimMode::Kind;
    switch (mode.kind) {
      case ok:
        result.outcome = UpstreamOutcome::ok;
        result.interval = mode.interval;
        result.min_interval = mode.min_interval;
        result.peers.v4 = mode.peers;
        result.tracker_id = mode.tracker_id;
        break;
      case black_hole:
        result.reason = "timed out";
        break;
      case reset:
        result.reason = "connection reset";
        break;
      case not_found:
        result = {.outcome = UpstreamOutcome::refused, .reason = "404"};
        break;
      case busy:
        result = {.outcome = UpstreamOutcome::busy, .reason = "429"};
        result.retry_after = mode.retry_after;
        break;
      case failure:
        result = {.outcome = UpstreamOutcome::refused, .reason = "unregistered torrent"};
        break;
      case retry:
        result = {.outcome = UpstreamOutcome::refused, .reason = "come later"};
        result.retry_in = RetryIn{.after = std::chrono::minutes(mode.retry_minutes)};
        break;
      case never:
        result = {.outcome = UpstreamOutcome::refused, .reason = "go away"};
        result.retry_in = RetryIn{.never = true};
        break;
    }
    return result;
  }

  const Clock& clock_;
  SimMode usual_ = {};
  std::map<std::string, SimMode> modes_;
  std::multimap<MonoTime, std::pair<Done, UpstreamResult>> answers_;
};

inline InfoHash hash_of(std::uint32_t number) {
  InfoHash hash;
  for (std::size_t i = 0; i < 4; ++i) hash.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return hash;
}
inline PeerId peer_of(std::uint32_t number) {
  return {.bytes = hash_of(number).bytes};
}
inline std::vector<UpstreamConfig> upstreams_of(std::size_t count) {
  std::vector<UpstreamConfig> upstreams;
  for (std::size_t i = 0; i < count; ++i)
    upstreams.push_back({.name = "u" + std::to_string(i), .uri = "udp://u" + std::to_string(i)});
  return upstreams;
}
/// As the seed counts, without chance: 10 slots, no caps of single upstreams.
inline ForwardOptions plain_options() {
  ForwardOptions options;
  options.slots_base = 10;
  options.slots_max = 0;
  options.in_flight_max = 1'000'000;
  options.in_flight_unproven_max = 1'000'000;
  options.upstream_rate = {.tokens = 1'000'000, .per = 1s, .burst = 1'000'000};
  options.interval_jitter = 0;
  options.retry.jitter = 0;
  options.breaker.jitter = 0;
  return options;
}

/// An engine whose upstreams are u0, u1, ...
struct ForwardBench {
  ManualClock clock;
  SeededRandom random;
  SimTransport transport{clock};
  std::size_t wakes = 0;
  std::vector<InfoHash> notified;
  Forwarder forwarder;

  explicit ForwardBench(const ForwardOptions& options = plain_options(), std::size_t upstreams = 1,
                        std::uint64_t seed = 1)
      : random(seed),
        forwarder(options, {.clock = &clock,
                            .random = &random,
                            .transport = &transport,
                            .wake = [this] { ++wakes; },
                            .on_peers = [this](const InfoHash& h) { notified.push_back(h); }}) {
    EXPECT_TRUE(forwarder.reload(upstreams_of(upstreams)).ok());
  }
  ~ForwardBench() {
    const Status status = forwarder.verify();
    EXPECT_TRUE(status.ok()) << status.to_string();
  }

  /// Announces without running anything.
  std::optional<ForwardRefusal> put(std::uint32_t hash, std::uint32_t peer,
                                    Event event = Event::none, HashSeen seen = HashSeen::before) {
    Announce announce{.hash = hash_of(hash), .peer = peer_of(peer), .left = 1, .event = event};
    return forwarder.on_announce(announce, seen);
  }
  void announce(std::uint32_t hash, std::uint32_t peer, Event event = Event::none) {
    put(hash, peer, event);
    run();
  }
  /// Everything that is due, in no time.
  void run() { run_for(0s); }
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
    forwarder.run_due();
  }
  ForwardInsight insight() const { return forwarder.insight(); }
  std::size_t sent() const { return transport.sent.size(); }
};

}  // namespace sluice::tracker
