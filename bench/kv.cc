// SPDX-License-Identifier: MIT
// bench_kv: what the kv room costs on a real disk, beside LMDB without Sluice in the same run.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "child.h"
#include "kv_parts.h"

namespace sluice::bench {
namespace {

constexpr int kExitShort = 1;
constexpr int kExitBroken = 2;

int exit_code_of(const Status& status) {
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_kv: {}\n", status.to_string());
  return kExitBroken;
}

Status measure(const Options& options, Report& report) {
  SLUICE_LET(scratch, ScratchDir::make(options.dir));
  const Part part{.scratch = scratch, .quick = options.quick, .report = report};
  fmt::print(stderr, "1/3 group commit and reads\n");
  SLUICE_TRY(measure_groups(part));
  fmt::print(stderr, "2/3 two processes\n");
  SLUICE_TRY(measure_two_processes(part));
  fmt::print(stderr, "3/3 doorbell\n");
  return measure_doorbell(part);
}

int run(const std::vector<std::string>& args) {
  const CommandLine command = parse_command_line("kv", args);
  if (command.exit_code) return *command.exit_code;
  Report report("kv");
  if (const Status status = measure(command.options, report); !status.ok())
    return exit_code_of(status);
  const bool kept = report.print();
  if (!command.options.markdown.empty())
    if (const Status status = report.write_markdown(command.options.markdown); !status.ok())
      return exit_code_of(status);
  return kept ? 0 : kExitShort;
}

int run_child(const std::vector<std::string>& args) {
  die_with_parent();
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  return exit_code_of(args[0] == kWriterCommand ? writer_process(rest) : waiter_process(rest));
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  const std::vector<std::string> args(argv + 1, argv + argc);
  const bool child = !args.empty() && (args[0] == kWriterCommand || args[0] == kWaiterCommand);
  return child ? run_child(args) : run(args);
}
