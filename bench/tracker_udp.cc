// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <thread>
#include <vector>

#include "tracker_parts.h"
#include "tracker_servers.h"
#include "udp_load.h"

namespace sluice::bench {
namespace {

constexpr Crowd kSmall{.first = 0, .hashes = 1'000, .peers = 50};
constexpr Crowd kLarge{.first = 1'000, .hashes = 1, .peers = 50'000};

/// A tracker that knows some crowds, and who announces to it: one for each of its threads, so that
/// it has as much to do on each. One with less to do is woken more often.
struct Contender {
  Tracker tracker;
  std::vector<UdpLoad> loads;

  static Result<Contender> make(Result<Tracker> started, const std::vector<Crowd>& crowds,
                                std::uint64_t threads = 1) {
    SLUICE_LET(tracker, std::move(started));
    std::vector<UdpLoad> loads;
    for (std::uint64_t seed = 0; seed < threads; ++seed) {
      SLUICE_LET(load, UdpLoad::connect(tracker.port, seed));
      loads.push_back(std::move(load));
    }
    for (const Crowd& crowd : crowds) SLUICE_TRY(loads[0].enter(crowd));
    return Contender{std::move(tracker), std::move(loads)};
  }
  /// CPU us of the tracker for each of `count` announces.
  Result<double> cpu_us_each(const Crowd& crowd, std::uint64_t count) {
    SLUICE_LET(before, tracker.process.cpu_used());
    SLUICE_LET(announced, announce(crowd, count));
    SLUICE_LET(after, tracker.process.cpu_used());
    if (announced.peers != announced.answers * kWanted)
      return error(Code::corrupt, fmt::format("{} peers in {} answers instead of {} in each",
                                              announced.peers, announced.answers, kWanted));
    return (after - before) * 1e6 / static_cast<double>(announced.answers);
  }

 private:
  Result<Announced> announce(const Crowd& crowd, std::uint64_t count) {
    std::vector<Result<Announced>> parts(loads.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < loads.size(); ++i)
        threads.emplace_back([&, i] { parts[i] = loads[i].announce(crowd, count / loads.size()); });
    }
    Announced all;
    for (const auto& part : parts) {
      if (!part) return tl::unexpected(part.error());
      all.answers += part->answers;
      all.peers += part->peers;
    }
    return all;
  }
};

struct Round {
  double ours = 0;
  double theirs = 0;
  double large = 0;
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
  SLUICE_LET(ours, Contender::make(start_retracker(dir, {"--set", "threads=1"}), {kSmall, kLarge}));
  SLUICE_LET(by_two,
             Contender::make(start_retracker(dir_two, {"--set", "threads=2"}), {kSmall}, 2));
  SLUICE_LET(theirs, Contender::make(start_opentracker(dir_peer, {kSmall}), {kSmall}));
  const std::uint64_t count = part.quick ? 20'000 : 200'000;
  // Many short ones, as what else the machine does comes and goes.
  std::vector<Round> rounds(11);
  for (Round& round : rounds) {
    SLUICE_LET(small, ours.cpu_us_each(kSmall, count));
    SLUICE_LET(peer, theirs.cpu_us_each(kSmall, count));
    SLUICE_LET(two, by_two.cpu_us_each(kSmall, count));
    SLUICE_LET(large, ours.cpu_us_each(kLarge, count));
    round = {.ours = small, .theirs = peer, .large = large, .by_two = two};
  }
  report(part, rounds);
  return {};
}

}  // namespace sluice::bench
