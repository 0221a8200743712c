// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/clock.h>

#include <stop_token>
#include <thread>
#include <vector>

#include "child.h"
#include "tracker_parts.h"
#include "tracker_servers.h"
#include "tracker_upstreams.h"
#include "udp_load.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;

/// Local peers that all upstreams know.
constexpr Crowd kLocal{.first = 0, .hashes = 10, .peers = 10};
/// A new torrent for a hundred upstreams each time: a thousand forwards a second.
constexpr Duration kNewTorrentEvery = 100ms;
constexpr Duration kAnnounceEvery = 1ms;

/// us from an announce to its answer, the 99th percentile.
Result<double> local_p99(UdpLoad& load, int count) {
  std::vector<double> took;
  for (int i = 0; i < count; ++i) {
    system_clock().sleep_for(kAnnounceEvery, {});
    const MonoTime began = system_clock().mono();
    SLUICE_TRY(load.announce(kLocal, 1));
    took.push_back(
        std::chrono::duration<double, std::micro>(system_clock().mono() - began).count());
  }
  return percentile(took, 0.99);
}

/// Enters torrents from `first` on, until it is stopped. How many.
Result<std::uint32_t> enter_torrents(UdpLoad& load, std::uint32_t first,
                                     const std::stop_token& stop) {
  std::uint32_t count = 0;
  MonoTime next = system_clock().mono();
  while (!stop.stop_requested()) {
    SLUICE_TRY(load.enter({.first = first + count++, .hashes = 1, .peers = 1}));
    next += kNewTorrentEvery;
    system_clock().sleep_for(next - system_clock().mono(), stop);
  }
  return count;
}

struct Round {
  double alone = 0;
  double together = 0;
  double forwards = 0;  ///< A second.
};

}  // namespace

Status measure_together(const Part& part) {
  SLUICE_LET(dir, make_dir(part.scratch, "together"));
  const UpstreamsPlan plan{
      .list = dir + "/forwarders.yaml", .scheme = "udp", .hashes = kLocal.hashes};
  SLUICE_LET(upstreams, Child::spawn(words_of(plan)));
  SLUICE_TRY(upstreams.numbers(1));
  SLUICE_LET(tracker, start_retracker(dir, {"-f", plan.list, "--set", "first_reply_wait_ms=0"}));
  SLUICE_LET(local, UdpLoad::connect(tracker.port, 1));
  SLUICE_LET(crowd, UdpLoad::connect(tracker.port, 2));
  SLUICE_TRY(local.enter(kLocal));
  SLUICE_TRY(upstreams.numbers(2));
  system_clock().sleep_for(3s, {});  // Now all peers have been told, not only all torrents.

  const int count = part.quick ? 500 : 2'000;
  std::vector<Round> rounds(part.quick ? 3 : 7);
  std::uint32_t next = kLocal.hashes;
  for (Round& round : rounds) {
    SLUICE_LET(alone, local_p99(local, count));
    Result<std::uint32_t> entered = 0U;
    Result<double> together = 0.0;
    const Stopwatch watch;
    {
      const std::jthread thread(
          [&](const std::stop_token& stop) { entered = enter_torrents(crowd, next, stop); });
      together = local_p99(local, count);
    }
    const double seconds = watch.read().wall_seconds;
    if (!together) return together.error();
    if (!entered) return entered.error();
    next += *entered;
    round = {.alone = alone, .together = *together, .forwards = *entered * 100 / seconds};
  }
  const auto middle = [&](double Round::* which) {
    return number(median_of(rounds, [&](const Round& r) { return r.*which; }));
  };
  part.report.add({.what = fmt::format("UDP announce, while {} a second are forwarded: us, p99",
                                       middle(&Round::forwards)),
                   .ours = middle(&Round::together),
                   .peer = middle(&Round::alone) + " (nothing is forwarded)",
                   .figure = median_of(rounds, [](const Round& r) { return r.together / r.alone; }),
                   .bar = Bar{"together", Bar::Kind::at_most, 1.2}});
  return {};
}

}  // namespace sluice::bench
