// SPDX-License-Identifier: MIT
// Every contender gets the same jobs, `sh -c true`, and is timed until the last of them has ended.
// CPU time is that of all processes that it starts, those that outlive their parents included.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "queue_load.h"
#include "queuectl_parts.h"
#include "queuectl_tools.h"

namespace sluice::bench {
namespace {

/// Where a contender works, once.
struct Arena {
  const Tools& tools;
  std::string dir = {};   ///< Fresh.
  std::string list = {};  ///< A line `true` for each job.
  std::string json = {};  ///< The same as one JSON object per line.
  std::uint64_t jobs = 0;
};

Status run_quietly(const Program& program) {
  return status_of(run_program(program));
}

// The jobs are in the store before, as shell text; the store is synced at every commit.
Result<Cost> drain_with_queuectl(const Arena& arena) {
  const Tools& tools = arena.tools;
  SLUICE_TRY(tools.enqueue_list(arena.dir, arena.json));
  SLUICE_LET(cost, cost_of_tree([&] {
               return run_quietly(tools.queuectl(
                   arena.dir, {"worker", "start", "--count", "2", "--drain", "--quiet"}));
             }));
  SLUICE_TRY(check_done(arena.dir, arena.jobs));
  return cost;
}

// A process of its own, as queuectl is one.
Result<Cost> drain_with_bare_loop(const Arena& arena) {
  return cost_of_tree([&] {
    return run_quietly(arena.tools.program(
        {arena.tools.self(), kBareLoopCommand, arena.dir, std::to_string(arena.jobs)}));
  });
}

// There is no way to hand task-spooler or nq a list: each job is a call, which belongs to them.
Result<Cost> drain_with_task_spooler(const Arena& arena) {
  const auto tsp = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"tsp"};
    all.insert(all.end(), words.begin(), words.end());
    return run_quietly(arena.tools.program(
        all, {"TS_SLOTS=2", "TS_SOCKET=" + arena.dir + "/socket", "TMPDIR=" + arena.dir}));
  };
  return cost_of_tree(
      [&]() -> Status {
        for (std::uint64_t i = 0; i < arena.jobs; ++i) SLUICE_TRY(tsp({"sh", "-c", "true"}));
        SLUICE_TRY(tsp({"-w", std::to_string(arena.jobs - 2)}));
        return tsp({"-w", std::to_string(arena.jobs - 1)});
      },
      [&] { return tsp({"-K"}); });
}

Result<Cost> drain_with_nq(const Arena& arena) {
  return cost_of_tree([&]() -> Status {
    for (std::uint64_t i = 0; i < arena.jobs; ++i)
      SLUICE_TRY(run_quietly(
          arena.tools.program({"nq", "-q", "sh", "-c", "true"}, {"NQDIR=" + arena.dir})));
    return wait_for_tree();
  });
}

Result<Cost> drain_list(const Arena& arena, std::vector<std::string> words) {
  Program program = arena.tools.program(std::move(words), {"TMPDIR=" + arena.dir});
  program.input = arena.list;
  return cost_of_tree([&] { return run_quietly(program); });
}

Result<Cost> drain_with_parallel(const Arena& arena) {
  return drain_list(arena, {"parallel", "--will-cite", "-j2"});
}

Result<Cost> drain_with_xargs(const Arena& arena) {
  return drain_list(arena, {"xargs", "-P2", "-I{}", "sh", "-c", "true"});
}

struct Contender {
  const char* name;
  Result<Cost> (*drain)(const Arena& arena);
  const char* bar = nullptr;
  const char* note = nullptr;
};
constexpr std::array<Contender, 6> kContenders{{
    {"queuectl", drain_with_queuectl},
    {"loop", drain_with_bare_loop},
    {"tsp", drain_with_task_spooler, "drain_vs_tsp", "task-spooler, a call per job included"},
    {"nq", drain_with_nq, "drain_vs_nq", "nq, one at a time, a call per job included"},
    {"parallel", drain_with_parallel, "drain_vs_parallel", "GNU parallel -j2"},
    {"xargs", drain_with_xargs, "drain_vs_xargs", "xargs -P2, no groups, no output files"},
}};
constexpr std::size_t kOurs = 0;
constexpr std::size_t kLoop = 1;

using Round = std::array<Cost, kContenders.size()>;

Result<std::vector<Round>> run_rounds(const Tools& tools, std::uint64_t jobs, int count) {
  SLUICE_LET(list, tools.make_list("list", jobs, "true"));
  SLUICE_LET(json, tools.make_list("json", jobs, R"({"command":"true"})"));
  std::vector<Round> rounds;
  for (int i = 0; i < count; ++i) {
    Round& round = rounds.emplace_back();
    for (std::size_t who = 0; who < kContenders.size(); ++who) {
      SLUICE_LET(dir, tools.make_dir(fmt::format("{}-{}", kContenders[who].name, i)));
      auto cost = kContenders[who].drain(
          {.tools = tools, .dir = dir, .list = list, .json = json, .jobs = jobs});
      if (!cost) return Failure{cost.error().with(kContenders[who].name)};
      round[who] = *cost;
    }
  }
  return rounds;
}

}  // namespace

Status measure_drain(const Part& part) {
  const std::uint64_t jobs = part.quick ? 200 : 1000;
  SLUICE_LET(tools, Tools::find(part.scratch, "drain"));
  SLUICE_LET(rounds, run_rounds(tools, jobs, part.quick ? 3 : 5));
  const auto rate = [&](std::size_t who) {
    return number(median_of(rounds, [&](const Round& round) {
      return static_cast<double>(jobs) / round[who].wall_seconds;
    }));
  };
  const auto cpu_ms = [&](std::size_t who) {
    return number(median_of(rounds, [&](const Round& round) {
      return round[who].cpu_seconds * 1000 / static_cast<double>(jobs);
    }));
  };
  const auto faster = [&](std::size_t who) {  // In wall time, than this one.
    return median_of(rounds, [&](const Round& round) {
      return round[who].wall_seconds / round[kOurs].wall_seconds;
    });
  };
  constexpr const char* kLoopNote = " (posix_spawn, group and file for each, no queue)";
  part.report.add({.what = fmt::format("{} jobs `sh -c true`, 2 at once: jobs/s", jobs),
                   .ours = rate(kOurs),
                   .peer = rate(kLoop) + kLoopNote,
                   .figure = faster(kLoop),
                   .bar = Bar{"drain", Bar::Kind::at_least, 0.85}});
  part.report.add({.what = "  CPU ms per job, of all processes",
                   .ours = cpu_ms(kOurs),
                   .peer = cpu_ms(kLoop) + kLoopNote,
                   .figure = median_of(rounds, [&](const Round& round) {
                     return round[kOurs].cpu_seconds / round[kLoop].cpu_seconds;
                   })});
  for (std::size_t who = kLoop + 1; who < kContenders.size(); ++who)
    part.report.add(
        {.what = "  jobs/s (CPU ms per job)",
         .ours = fmt::format("{} ({})", rate(kOurs), cpu_ms(kOurs)),
         .peer = fmt::format("{} ({}) ({})", rate(who), cpu_ms(who), kContenders[who].note),
         .figure = faster(who),
         .bar = Bar{kContenders[who].bar, Bar::Kind::at_least, 1}});
  return {};
}

}  // namespace sluice::bench
