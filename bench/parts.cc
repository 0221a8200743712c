// SPDX-License-Identifier: MIT
#include "parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace sluice::bench {
namespace {

constexpr int kExitShort = 1;
constexpr int kExitBroken = 2;

// Takes "--only NAME" out of the arguments; empty if it is not there.
std::string take_only(const Benchmark& benchmark, std::vector<std::string>& args) {
  const auto at = std::ranges::find(args, "--only");
  if (at == args.end() || at + 1 == args.end()) return {};
  const std::string name = at[1];
  const auto known = [&](const NamedPart& part) { return name == part.name; };
  if (!std::ranges::any_of(benchmark.parts, known)) return {};
  args.erase(at, at + 2);
  return name;
}

Status measure(const Benchmark& benchmark, const Options& options, const std::string& only,
               Report& report) {
  SLUICE_LET(scratch, ScratchDir::make(options.dir));
  const Part part{.scratch = scratch, .quick = options.quick, .report = report};
  for (std::size_t i = 0; i < benchmark.parts.size(); ++i) {
    const NamedPart& named = benchmark.parts[i];
    if (!only.empty() && only != named.name) continue;
    fmt::print(stderr, "{}/{} {}\n", i + 1, benchmark.parts.size(), named.name);
    const Stopwatch watch;
    SLUICE_TRY(named.measure(part).with(named.name));
    fmt::print(stderr, "    {:.0f} s\n", watch.read().wall_seconds);
  }
  return {};
}

}  // namespace

int exit_code_of(const Benchmark& benchmark, const Status& status) {
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_{}: {}\n", benchmark.name, status.to_string());
  return kExitBroken;
}

int run(const Benchmark& benchmark, std::vector<std::string> args) {
  const std::string only = take_only(benchmark, args);
  const CommandLine command = parse_command_line(benchmark.name, args);
  if (command.exit_code == 0) {
    fmt::print("  --only PART      one of");
    for (const NamedPart& part : benchmark.parts) fmt::print(" {}", part.name);
    fmt::print("; writes no file\n");
  }
  if (command.exit_code) return *command.exit_code;
  Report report(benchmark.name);
  if (const Status status = measure(benchmark, command.options, only, report); !status.ok())
    return exit_code_of(benchmark, status);
  const bool kept = report.print();
  if (command.options.quick) fmt::print("{}\n", benchmark.quick_note);
  if (only.empty() && !command.options.markdown.empty())
    if (const Status status = report.write_markdown(command.options.markdown); !status.ok())
      return exit_code_of(benchmark, status);
  return kept ? 0 : kExitShort;
}

}  // namespace sluice::bench
