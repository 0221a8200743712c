// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/clock.h>
#include <sluice/random.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "tracker/forwarder.h"
#include "tracker_crowd.h"
#include "tracker_parts.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;
using tracker::Announce;
using tracker::Event;
using tracker::Forwarder;
using tracker::ForwardOptions;
using tracker::HashSeen;

constexpr std::uint32_t kUpstreams = 100;
constexpr std::uint32_t kWaiting = 10'000;  ///< Torrents: a million jobs wait for their time.

/// Answers at once: come again after the interval that it is set to.
class AtOnce final : public tracker::UpstreamTransport {
 public:
  void announce(const tracker::UpstreamRequest& /*request*/, Done done) override {
    done({.outcome = tracker::UpstreamOutcome::ok, .interval = interval});
  }
  Duration interval = 2h;
};

ForwardOptions options_without_limits() {
  ForwardOptions options;
  options.queue_capacity = 1'000'000;
  options.throttle_top_n = 0;
  options.in_flight_max = options.in_flight_unproven_max = 1'000'000;
  options.upstream_rate = {.tokens = 1'000'000'000, .per = 1s, .burst = 1'000'000'000};
  options.interval_min = 50ms;
  options.interval_jitter = 1;
  return options;
}

struct Engine {
  Engine() : forwarder(options_without_limits(), {.random = &random, .transport = &transport}) {
    std::vector<tracker::UpstreamConfig> upstreams;
    for (std::uint32_t i = 0; i < kUpstreams; ++i)
      upstreams.push_back({.name = fmt::format("u{}", i), .uri = fmt::format("udp://u{}", i)});
    loaded = forwarder.reload(upstreams);
  }
  void announce(std::uint32_t hash, Event event) {
    Announce announce = announce_of(hash, 1);
    announce.event = event;
    (void)forwarder.on_announce(announce, HashSeen::before);
    forwarder.run_due();
  }
  /// CPU us for each job of torrents that come, and set a timer, and of their going, which cancels
  /// it and says so.
  double us_each(std::uint32_t first, std::uint32_t torrents) {
    const Stopwatch watch;
    for (std::uint32_t i = 0; i < torrents; ++i) announce(first + i, Event::started);
    for (std::uint32_t i = 0; i < torrents; ++i) announce(first + i, Event::stopped);
    return watch.read().cpu_seconds * 1e6 / (2.0 * torrents * kUpstreams);
  }

  SeededRandom random{1};
  AtOnce transport;
  Forwarder forwarder;
  Status loaded;
};

/// Runs the engine as the program does, for so long. How often it was wanted.
int run_for(Forwarder& forwarder, Duration duration) {
  const MonoTime end = system_clock().mono() + duration;
  const std::atomic<std::uint32_t> nobody_calls = 0;
  int wakes = -1;  // It begins without being woken.
  while (system_clock().mono() < end) {
    const MonoTime next = forwarder.run_due();
    ++wakes;
    system_clock().wait(nobody_calls, 0, std::min(next, end));
  }
  return wakes;
}

}  // namespace

Status measure_timers(const Part& part) {
  const std::uint32_t torrents = part.quick ? 200 : 1'000;
  const auto empty = std::make_unique<Engine>();
  const auto full = std::make_unique<Engine>();
  SLUICE_TRY(empty->loaded);
  SLUICE_TRY(full->loaded);
  for (std::uint32_t i = 0; i < kWaiting; ++i) full->announce(i, Event::started);
  struct Round {
    double empty = 0;
    double full = 0;
  };
  std::vector<Round> rounds(5);
  for (Round& round : rounds)
    round = {.empty = empty->us_each(kWaiting, torrents),
             .full = full->us_each(kWaiting, torrents)};
  const double full_us = median_of(rounds, [](const Round& r) { return r.full; });
  part.report.add(
      {.what = "a job beside 1M that wait for their time, with its timer: CPU us",
       .ours = number(full_us),
       .peer = number(median_of(rounds, [](const Round& r) { return r.empty; })) + " (no others)",
       .figure = full_us,
       .bar = Bar{"job_us", Bar::Kind::at_most, 1}});

  const int wakes = run_for(full->forwarder, 2s);
  part.report.add({.what = "  wake-ups of the engine in 2 s, while 1M wait",
                   .ours = number(wakes),
                   .figure = static_cast<double>(wakes),
                   .bar = Bar{"engine_idle_wakes", Bar::Kind::at_most, 0}});

  // From half a second to one later, so that there is something due at any time.
  full->transport.interval = 500ms;
  for (std::uint32_t i = 0; i < torrents / 10; ++i) full->announce(kWaiting + i, Event::started);
  full->transport.interval = 2h;
  run_for(full->forwarder, 1500ms);
  const auto late = full->forwarder.insight().lateness_ns;
  const double late_ms = static_cast<double>(late->percentile(0.99)) / 1e6;
  part.report.add(
      {.what = fmt::format("  ms from due to sent, p50 / p99 of {}", late->count()),
       .ours = fmt::format("{} / {}", number(static_cast<double>(late->percentile(0.5)) / 1e6),
                           number(late_ms)),
       .figure = late_ms,
       .bar = Bar{"forward_lateness_ms_p99", Bar::Kind::at_most, 5}});
  return full->forwarder.verify();
}

}  // namespace sluice::bench
