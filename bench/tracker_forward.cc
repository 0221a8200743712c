// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/clock.h>

#include "child.h"
#include "tracker_parts.h"
#include "tracker_servers.h"
#include "tracker_upstreams.h"
#include "udp_load.h"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kAgain = 20'000;

/// Torrents that are announced at once, by one peer each, and the upstreams that are to hear of it.
struct Case {
  std::string what;
  UpstreamsPlan plan;
  std::vector<std::string> settings = {};
  Bar bar;
};

struct Delivered {
  double seconds = 0;  ///< From the first announce to the last answer of an upstream.
  double count = 0;
  double peak_mib = 0;
  double cpu_us_each = 0;
  double again_us_each = 0;  ///< CPU for an announce of what all upstreams have heard already.
};

Result<Delivered> deliver(const Part& part, const Case& one, std::size_t round) {
  SLUICE_LET(dir, make_dir(part.scratch, fmt::format("{}-{}", one.bar.name, round)));
  UpstreamsPlan plan = one.plan;
  plan.list = dir + "/forwarders.yaml";
  SLUICE_LET(upstreams, Child::spawn(words_of(plan)));
  SLUICE_TRY(upstreams.numbers(1));
  std::vector<std::string> words = {"-f", plan.list};
  for (const std::string& setting : one.settings) {
    words.push_back("--set");
    words.push_back(setting);
  }
  SLUICE_LET(tracker, start_retracker(dir, words));
  SLUICE_LET(load, UdpLoad::connect(tracker.port));
  SLUICE_LET(cpu_before, tracker.process.cpu_used());
  const MonoTime began = system_clock().mono();
  SLUICE_TRY(load.enter({.hashes = plan.hashes, .peers = 1}));
  SLUICE_LET(told, upstreams.numbers(2));
  SLUICE_LET(cpu, tracker.process.cpu_used());
  SLUICE_LET(peak_mib, tracker.process.peak_mib());
  SLUICE_LET(again, load.announce({.hashes = plan.hashes, .peers = 1}, kAgain));
  SLUICE_LET(cpu_again, tracker.process.cpu_used());
  const auto count = static_cast<double>(told[0]);
  const auto ended = MonoTime(std::chrono::nanoseconds(told[1]));
  return Delivered{.seconds = std::chrono::duration<double>(ended - began).count(),
                   .count = count,
                   .peak_mib = peak_mib,
                   .cpu_us_each = (cpu - cpu_before) * 1e6 / count,
                   .again_us_each = (cpu_again - cpu) * 1e6 / static_cast<double>(again.answers)};
}

Status measure(const Part& part, const Case& one, std::size_t rounds_count) {
  std::vector<Delivered> rounds;
  for (std::size_t i = 0; i < rounds_count; ++i) {
    SLUICE_LET(round, deliver(part, one, i));
    rounds.push_back(round);
  }
  const auto middle = [&](double Delivered::* which) {
    return median_of(rounds, [&](const Delivered& r) { return r.*which; });
  };
  const double seconds = middle(&Delivered::seconds);
  part.report.add(
      {.what = one.what,
       .ours = fmt::format("{} ({} delivered)", number(seconds), middle(&Delivered::count)),
       .peer = fmt::format("{}", fmt::join(one.settings, ", ")),
       .figure = seconds,
       .bar = one.bar});
  part.report.add({.what = "  CPU us of the tracker for each",
                   .ours = number(middle(&Delivered::cpu_us_each))});
  if (one.bar.name == "forward_5000_udp")
    part.report.add({.what = "  a UDP announce of what all of them know: CPU us of the tracker",
                     .ours = number(middle(&Delivered::again_us_each))});
  if (one.bar.name == "forward_50000")
    part.report.add({.what = "  memory of the tracker, MiB",
                     .ours = number(middle(&Delivered::peak_mib)),
                     .figure = middle(&Delivered::peak_mib),
                     .bar = Bar{"rss_mib", Bar::Kind::at_most, 200}});
  return {};
}

}  // namespace

Status measure_forward(const Part& part) {
  const std::size_t rounds = part.quick ? 1 : 5;
  SLUICE_TRY(measure(part,
                     {.what = "50 torrents to 100 upstreams of 200 ms, HTTP: s",
                      .plan = {},
                      .bar = {"forward_5000", Bar::Kind::at_most, 1.5}},
                     rounds));
  SLUICE_TRY(measure(part,
                     {.what = "  the same, UDP",
                      .plan = {.scheme = "udp"},
                      .bar = {"forward_5000_udp", Bar::Kind::at_most, 1.5}},
                     rounds));
  SLUICE_TRY(measure(part,
                     {.what = "  the same, HTTP, and 10 of the 100 never answer",
                      .plan = {.black_holes = 10},
                      .bar = {"forward_black_holes", Bar::Kind::at_most, 2}},
                     rounds));
  return measure(part,
                 {.what = "500 torrents to 100 upstreams of 200 ms, HTTP: s",
                  .plan = {.hashes = 500},
                  .settings = {"forwarder_queue_size=100000", "forwarder_workers=2048"},
                  .bar = {"forward_50000", Bar::Kind::at_most, 10}},
                 part.quick ? 1 : 3);
}

}  // namespace sluice::bench
