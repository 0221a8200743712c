// SPDX-License-Identifier: MIT
// bench_flows: what unique keys, events, dependencies, batches and schedules add to the cost of a
// job, each beside the same jobs without them in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "flows_parts.h"

namespace sluice::bench {
namespace {

constexpr int kExitShort = 1;
constexpr int kExitBroken = 2;

struct NamedPart {
  const char* name;
  Status (*measure)(const FlowsPart& part);
};
constexpr std::array<NamedPart, 6> kParts = {{{"unique", measure_unique},
                                              {"events", measure_events},
                                              {"waiting", measure_waiting},
                                              {"dependants", measure_dependants},
                                              {"members", measure_members},
                                              {"schedules", measure_schedules}}};

int broken(const Status& status) {
  fmt::print(stderr, "bench_flows: {}\n", status.to_string());
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
  const FlowsPart part{.scratch = scratch, .quick = options.quick, .report = report};
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
  const CommandLine command = parse_command_line("flows", args);
  if (command.exit_code == 0) {
    fmt::print("  --only PART      one of");
    for (const NamedPart& part : kParts) fmt::print(" {}", part.name);
    fmt::print("; writes no file\n");
  }
  if (command.exit_code) return *command.exit_code;
  Report report("flows");
  if (const Status status = measure(command.options, only, report); !status.ok())
    return broken(status);
  const bool kept = report.print();
  if (command.options.quick) fmt::print("Quick: a tenth of the jobs where there are many.\n");
  if (only.empty() && !command.options.markdown.empty())
    if (const Status status = report.write_markdown(command.options.markdown); !status.ok())
      return broken(status);
  return kept ? 0 : kExitShort;
}

}  // namespace

Result<Shop> open_shop(const std::string& dir, bool events) {
  SLUICE_LET(shop, Shop::open(dir));
  SLUICE_TRY(shop.queues->configure(kQueue, {.events = events}));
  return std::move(shop);
}

std::string short_number(std::uint64_t jobs) {
  return jobs >= 1'000'000 ? fmt::format("{}M", jobs / 1'000'000) : fmt::format("{}k", jobs / 1000);
}

}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::run({argv + 1, argv + argc});
}
