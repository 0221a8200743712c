// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "migrate_ground.h"
#include "migrate_parts.h"

namespace sluice::bench {
namespace {

/// A tree in which every folder but the deepest has as many folders, and every one as many files.
struct Shape {
  std::uint32_t depth = 0;
  std::uint64_t folders = 0;
  std::uint64_t files = 0;

  std::string spec(const std::string& rest) const {
    return fmt::format("sim:seed=7,depth={},folders={},files={},{}", depth, folders, files, rest);
  }
};

Status measure_nodes(const Part& part, const Ground& ground) {
  // 300,096 and 9,999,989 nodes on the source.
  const Shape shape = part.quick ? Shape{.depth = 3, .folders = 15, .files = 82}
                                 : Shape{.depth = 5, .folders = 10, .files = 89};
  const Comparing wish{.src = shape.spec("world=src"),
                       .dst = shape.spec("world=dst,presence=0.99,differ=0.01"),
                       .ledger = ground.ledger("nodes"),
                       .threads = default_threads()};
  std::vector<double> rates, cpu_us, peaks;
  std::uint64_t entries = 0;
  for (int i = 0; i < rounds_of(part); ++i) {
    SLUICE_LET(compared, ground.compare(wish));
    SLUICE_TRY(Ground::remove(wish.ledger));
    entries = compared.summary.entries;
    rates.push_back(static_cast<double>(entries) / compared.ended.cost.wall_seconds);
    cpu_us.push_back(compared.ended.cost.cpu_seconds * 1e6 / static_cast<double>(entries));
    peaks.push_back(compared.ended.peak_mib);
  }
  part.report.add(
      {.what = fmt::format("simulated trees of {} nodes together: nodes/s",
                           number(static_cast<double>(entries))),
       .ours = fmt::format("{} ({} us CPU each)", number(median(rates)), number(median(cpu_us))),
       .figure = median(rates),
       .bar = Bar{"sim_nodes", Bar::Kind::at_least, 2e6}});
  // What it uses unless told otherwise, and a tenth.
  constexpr double kMemoryMib = 64;
  const double peak = *std::ranges::max_element(peaks);
  part.report.add({.what = fmt::format("  MiB of memory, peak (--memory {}M)", kMemoryMib),
                   .ours = number(peak),
                   .figure = peak,
                   .bar = Bar{"sim_rss_mib", Bar::Kind::at_most, 1.1 * kMemoryMib}});
  return {};
}

constexpr double kLatencySeconds = 0.01;
constexpr std::uint64_t kWorkers = 64;

/// The least time in which the destination can be listed. Every folder is one call of kLatency (its
/// names fit on a page), a folder can be listed once its parent was, and kWorkers calls are made at
/// once; the source answers immediately. All calls take as long, so the best that anyone can do is
/// to go in steps of kLatency, with as many calls in each as there are workers and folders that are
/// known, the highest first.
double critical_seconds(const Shape& shape) {
  std::vector<std::uint64_t> known(shape.depth + 1);
  known[0] = 1;
  std::uint64_t steps = 0;
  for (bool more = true; more; ++steps) {
    more = false;
    std::uint64_t free = kWorkers;
    std::vector<std::uint64_t> found(known.size());
    for (std::size_t level = 0; level < known.size(); ++level) {
      const std::uint64_t now = std::min(free, known[level]);
      free -= now;
      known[level] -= now;
      if (level + 1 < known.size()) found[level + 1] = now * shape.folders;
    }
    for (std::size_t level = 0; level < known.size(); ++level) {
      known[level] += found[level];
      more = more || known[level] > 0;
    }
  }
  return static_cast<double>(steps) * kLatencySeconds;
}

Status measure_overlap(const Part& part, const Ground& ground) {
  // 3,616 and 14,425 folders.
  const Shape shape{.depth = 3, .folders = part.quick ? 15U : 24U, .files = 10};
  const Comparing wish{.src = shape.spec("world=src"),
                       .dst = shape.spec("world=dst,latency=10ms"),
                       .ledger = ground.ledger("overlap"),
                       .threads = kWorkers,
                       .same = true};
  std::vector<double> seconds, cpu_seconds;
  for (int i = 0; i < rounds_of(part); ++i) {
    SLUICE_LET(compared, ground.compare(wish));
    SLUICE_TRY(Ground::remove(wish.ledger));
    seconds.push_back(compared.ended.cost.wall_seconds);
    cpu_seconds.push_back(compared.ended.cost.cpu_seconds);
  }
  const double least = critical_seconds(shape);
  part.report.add(
      {.what = "a destination that takes 10 ms per folder, --threads 64: s (CPU s)",
       .ours = fmt::format("{} ({})", number(median(seconds)), number(median(cpu_seconds))),
       .peer = number(least) + " (the critical path: 64 folders at once)",
       .figure = median(seconds) / least,
       .bar = Bar{"overlap", Bar::Kind::at_most, 1.2}});
  return {};
}

}  // namespace

Status measure_sim(const Part& part) {
  SLUICE_LET(ground, Ground::make(part, "sim"));
  SLUICE_TRY(measure_nodes(part, ground));
  return measure_overlap(part, ground);
}

}  // namespace sluice::bench
