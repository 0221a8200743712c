// SPDX-License-Identifier: MIT
// bench_queue: what a job's life costs on a real disk, beside LMDB without Sluice in the same run,
// and how little that depends on how much else there is in the queue.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "child.h"
#include "queue_parts.h"

namespace sluice::bench {
namespace {

constexpr int kExitShort = 1;
constexpr int kExitBroken = 2;

struct NamedPart {
  const char* name;
  Status (*measure)(const QueuePart& part);
};
constexpr std::array<NamedPart, 6> kParts = {{{"batches", measure_batches},
                                              {"threads", measure_threads},
                                              {"groups-at-limit", measure_groups_at_limit},
                                              {"limited-groups", measure_limited_groups},
                                              {"backlog", measure_backlog},
                                              {"conflicts", measure_conflicts}}};

int exit_code_of(const Status& status) {
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_queue: {}\n", status.to_string());
  return kExitBroken;
}

bool is_part(const std::string& name) {
  return std::ranges::any_of(kParts, [&](const NamedPart& part) { return name == part.name; });
}

// Takes "--only NAME" out of the arguments; empty if it is not there.
std::string take_only(std::vector<std::string>& args) {
  const auto at = std::ranges::find(args, "--only");
  if (at == args.end() || at + 1 == args.end() || !is_part(at[1])) return {};
  const std::string name = at[1];
  args.erase(at, at + 2);
  return name;
}

Status measure(const Options& options, const std::string& only, Report& report) {
  SLUICE_LET(scratch, ScratchDir::make(options.dir));
  const QueuePart part{.scratch = scratch, .quick = options.quick, .report = report};
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    if (!only.empty() && only != kParts[i].name) continue;
    fmt::print(stderr, "{}/{} {}\n", i + 1, kParts.size(), kParts[i].name);
    const Stopwatch watch;
    SLUICE_TRY(kParts[i].measure(part).with(kParts[i].name));
    fmt::print(stderr, "    {:.0f} s\n", watch.read().wall_seconds);
  }
  return {};
}

int run(std::vector<std::string> args) {
  const std::string only = take_only(args);
  const CommandLine command = parse_command_line("queue", args);
  if (command.exit_code == 0) {
    fmt::print("  --only PART      one of");
    for (const NamedPart& part : kParts) fmt::print(" {}", part.name);
    fmt::print("; writes no file\n");
  }
  if (command.exit_code) return *command.exit_code;
  Report report("queue");
  if (const Status status = measure(command.options, only, report); !status.ok())
    return exit_code_of(status);
  const bool kept = report.print();
  if (command.options.quick) fmt::print("Quick: a large backlog is 100k jobs here, not 1M.\n");
  if (only.empty() && !command.options.markdown.empty())
    if (const Status status = report.write_markdown(command.options.markdown); !status.ok())
      return exit_code_of(status);
  return kept ? 0 : kExitShort;
}

int run_child(const std::vector<std::string>& args) {
  die_with_parent();
  return exit_code_of(memory_process({args.begin() + 1, args.end()}));
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  const std::vector<std::string> args(argv + 1, argv + argc);
  return !args.empty() && args[0] == kMemoryCommand ? run_child(args) : run(args);
}
