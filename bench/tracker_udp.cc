// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "tracker_parts.h"
#include "tracker_servers.h"
#include "udp_load.h"

namespace sluice::bench {
namespace {

constexpr Crowd kSmall{.first = 0, .hashes = 1'000, .peers = 50};
constexpr Crowd kLarge{.first = 1'000, .hashes = 1, .peers = 50'000};

/// A tracker that knows some crowds, and who announces to it.
struct Contender {
  Tracker tracker;
  UdpLoad load;

  static Result<Contender> make(Result<Tracker> started, const std::vector<Crowd>& crowds) {
    SLUICE_LET(tracker, std::move(started));
    SLUICE_LET(load, UdpLoad::connect(tracker.port));
    for (const Crowd& crowd : crowds) SLUICE_TRY(load.enter(crowd));
    return Contender{std::move(tracker), std::move(load)};
  }
  /// CPU us of the tracker for each of `count` announces.
  Result<double> cpu_us_each(const Crowd& crowd, std::uint64_t count) {
    SLUICE_LET(before, tracker.process.cpu_used());
    SLUICE_LET(announced, load.announce(crowd, count));
    SLUICE_LET(after, tracker.process.cpu_used());
    if (announced.peers_each() < kWanted - 0.5)
      return error(Code::corrupt, fmt::format("{:.1f} peers in an answer instead of {}",
                                              announced.peers_each(), kWanted));
    return (after - before) * 1e6 / static_cast<double>(announced.answers);
  }
};

struct Round {
  double ours = 0;
  double theirs = 0;
  double large = 0;
  double large_theirs = 0;
  double by_two = 0;
};

void report(const Part& part, const std::vector<Round>& rounds) {
  const auto us = [&](double Round::* which) {
    return number(median_of(rounds, [&](const Round& r) { return r.*which; }));
  };
  const auto ratio = [&](double Round::* of, double Round::* to) {
    return median_of(rounds, [&](const Round& r) { return r.*of / r.*to; });
  };
  part.report.add({.what = "UDP announce, 1,000 swarms of 50, 30 peers: CPU us of the tracker",
                   .ours = us(&Round::ours),
                   .peer = us(&Round::theirs) + " (opentracker)",
                   .figure = ratio(&Round::ours, &Round::theirs),
                   .bar = Bar{"udp", Bar::Kind::at_most, 1}});
  part.report.add({.what = "  one swarm of 50,000",
                   .ours = us(&Round::large),
                   .peer = us(&Round::ours) + " (1,000 swarms)",
                   .figure = ratio(&Round::large, &Round::ours),
                   .bar = Bar{"hot_swarm", Bar::Kind::at_most, 1.1}});
  part.report.add({.what = "  the same",
                   .ours = us(&Round::large),
                   .peer = us(&Round::large_theirs) + " (opentracker)",
                   .figure = ratio(&Round::large, &Round::large_theirs)});
  part.report.add({.what = "  1,000 swarms, two threads",
                   .ours = us(&Round::by_two),
                   .peer = us(&Round::ours) + " (one thread)",
                   .figure = ratio(&Round::by_two, &Round::ours),
                   .bar = Bar{"two_threads", Bar::Kind::at_most, 1.15}});
}

}  // namespace

Status measure_udp(const Part& part) {
  SLUICE_LET(dir, make_dir(part.scratch, "udp"));
  SLUICE_LET(dir_two, make_dir(part.scratch, "udp-two"));
  SLUICE_LET(dir_peer, make_dir(part.scratch, "udp-peer"));
  const std::vector<Crowd> both = {kSmall, kLarge};
  SLUICE_LET(ours, Contender::make(start_retracker(dir, {"--set", "threads=1"}), both));
  SLUICE_LET(by_two, Contender::make(start_retracker(dir_two, {"--set", "threads=2"}), {kSmall}));
  SLUICE_LET(theirs, Contender::make(start_opentracker(dir_peer, both), both));
  const std::uint64_t count = part.quick ? 20'000 : 200'000;
  std::vector<Round> rounds(part.quick ? 3 : 5);
  for (Round& round : rounds) {
    SLUICE_LET(small, ours.cpu_us_each(kSmall, count));
    SLUICE_LET(peer, theirs.cpu_us_each(kSmall, count));
    SLUICE_LET(large, ours.cpu_us_each(kLarge, count));
    SLUICE_LET(peer_large, theirs.cpu_us_each(kLarge, count));
    SLUICE_LET(two, by_two.cpu_us_each(kSmall, count));
    round = {small, peer, large, peer_large, two};
  }
  report(part, rounds);
  return {};
}

}  // namespace sluice::bench
