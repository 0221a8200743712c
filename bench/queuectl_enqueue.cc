// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "queue_load.h"
#include "queuectl_parts.h"
#include "queuectl_tools.h"

namespace sluice::bench {
namespace {

/// The medians of a round, in which the contenders take turns.
struct Round {
  Cost ours, synced, bare;
};

Result<Round> run_round(const Program& ours, const Program& synced, const Program& bare,
                        int samples) {
  struct Series {
    const Program& program;
    Cost& result;
    std::vector<double> wall = {}, cpu = {};
  };
  Round round;
  Series all[] = {{ours, round.ours}, {synced, round.synced}, {bare, round.bare}};
  for (int i = 0; i < samples; ++i)
    for (Series& series : all) {
      SLUICE_LET(cost, run_program(series.program));
      series.wall.push_back(cost.wall_seconds);
      series.cpu.push_back(cost.cpu_seconds);
    }
  for (Series& series : all)
    series.result = {.wall_seconds = median(series.wall), .cpu_seconds = median(series.cpu)};
  return round;
}

Status measure_one(const Part& part, const Tools& tools) {
  SLUICE_LET(store, tools.make_dir("one"));
  const Program ours = tools.queuectl(store, {"enqueue", "true"});
  const Program synced = tools.program({tools.bare(), "sync", tools / "page"});
  const Program bare = tools.program({tools.bare()});
  for (const Program* program : {&ours, &synced}) SLUICE_TRY(run_program(*program));
  std::vector<Round> rounds;
  for (int i = 0; i < (part.quick ? 3 : 7); ++i) {
    SLUICE_LET(round, run_round(ours, synced, bare, part.quick ? 20 : 50));
    rounds.push_back(round);
  }
  const auto ms = [&](Cost Round::* who, double Cost::* what) {
    return number(median_of(rounds, [&](const Round& r) { return (r.*who).*what * 1000; }));
  };
  const auto ratio = [&](Cost Round::* who, double Cost::* what) {
    return median_of(rounds, [&](const Round& r) { return r.ours.*what / (r.*who).*what; });
  };
  constexpr const char* kSynced = " (a static program that writes and syncs 4 KiB)";
  constexpr const char* kBare = " (a static program that ends at once)";
  part.report.add({.what = "one `queuectl enqueue true`: ms",
                   .ours = ms(&Round::ours, &Cost::wall_seconds),
                   .peer = ms(&Round::synced, &Cost::wall_seconds) + kSynced,
                   .figure = ratio(&Round::synced, &Cost::wall_seconds),
                   .bar = Bar{"enqueue_one", Bar::Kind::at_most, 2.5}});
  part.report.add({.what = "  CPU ms",
                   .ours = ms(&Round::ours, &Cost::cpu_seconds),
                   .peer = ms(&Round::synced, &Cost::cpu_seconds) + kSynced,
                   .figure = ratio(&Round::synced, &Cost::cpu_seconds)});
  part.report.add({.what = "  ms",
                   .ours = ms(&Round::ours, &Cost::wall_seconds),
                   .peer = ms(&Round::bare, &Cost::wall_seconds) + kBare,
                   .figure = ratio(&Round::bare, &Cost::wall_seconds)});
  return {};
}

// The same 100,000 jobs into a fresh store each time.
Status measure_bulk(const Part& part, const Tools& tools, const std::string& line,
                    const std::string& what, std::optional<Bar> bar) {
  constexpr std::uint64_t kJobs = 100'000;
  SLUICE_LET(list, tools.make_list("jobs", kJobs, line));
  std::vector<Cost> rounds;
  for (int i = 0; i < (part.quick ? 1 : 5); ++i) {
    SLUICE_LET(store, tools.make_dir(fmt::format("bulk-{}-{}", line.size(), i)));
    SLUICE_LET(cost, tools.enqueue_list(store, list));
    rounds.push_back(cost);
  }
  const double seconds = median_of(rounds, [](const Cost& cost) { return cost.wall_seconds; });
  const double cpu = median_of(rounds, [](const Cost& cost) { return cost.cpu_seconds; });
  part.report.add({.what = what,
                   .ours = fmt::format("{} ({} us CPU per job)", number(seconds),
                                       number(cpu * 1e6 / static_cast<double>(kJobs))),
                   .figure = seconds,
                   .bar = std::move(bar)});
  return {};
}

}  // namespace

Status measure_enqueue(const Part& part) {
  SLUICE_LET(tools, Tools::find(part.scratch, "enqueue"));
  SLUICE_TRY(measure_one(part, tools));
  SLUICE_TRY(measure_bulk(part, tools, R"({"id":"job-{}","command":"true"})",
                          "100k jobs as lines of JSON, `queuectl enqueue -`: s",
                          Bar{"enqueue_bulk", Bar::Kind::at_most, 2}));
  return measure_bulk(part, tools, R"({"command":"true"})", "  without ids of their own", {});
}

}  // namespace sluice::bench
