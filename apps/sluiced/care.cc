// SPDX-License-Identifier: MIT
// verify, backup.
#include <sluice/queue.h>

#include <cstdio>

#include "cli/output.h"
#include "cli/self.h"
#include "sluiced/context.h"

namespace sluice::cli {

namespace {

/// A damaged file can crash whoever reads it, so the reading is done by a process of its own.
Result<SelfRun> verify_in_child(const Settings& settings, bool json) {
  std::vector<std::string> arguments{"verify",       "--here",
                                     "--data",       settings.data,
                                     "--store-size", std::to_string(settings.store_bytes)};
  if (json) arguments.emplace_back("--json");
  SLUICE_LET(run, run_self(std::move(arguments)));
  if (run.signal.empty()) return run;
  return error(Code::corrupt, "the store is damaged: reading it ended with " + run.signal +
                                  "; restore a backup (sluiced backup)");
}

}  // namespace

Result<std::string> verify_report(const Settings& settings) {
  SLUICE_LET(run, verify_in_child(settings, true));
  if (run.output.starts_with('{')) return run.output.substr(0, run.output.find('\n'));
  return error(Code::unavailable, "the store cannot be read: " + run.output);
}

Result<int> verify(Context& context, const Arguments& arguments) {
  SLUICE_LET(store, context.open_existing_store());
  const bool json = arguments.has("--json");
  if (!arguments.has("--here")) {
    SLUICE_LET(run, verify_in_child(context.settings(), json));
    write_all(1, run.output);
    return run.exit_code;
  }
  SLUICE_LET(report, queue::verify(*store));
  if (json) {
    write_all(1, report.to_json() + "\n");
  } else {
    for (const queue::Breach& breach : report.breaches)
      std::printf("%s: %s (%s)\n", breach.invariant.c_str(), breach.what.c_str(),
                  breach.key.c_str());
    std::printf("%s: %llu queues, %llu jobs, %llu keys\n", report.clean() ? "clean" : "damaged",
                static_cast<unsigned long long>(report.queues),
                static_cast<unsigned long long>(report.jobs),
                static_cast<unsigned long long>(report.keys));
  }
  return report.clean() ? 0 : code_info(Code::corrupt).exit_code;
}

Result<int> backup(Context& context, const Arguments& arguments) {
  if (arguments.words().size() != 1)
    return error(Code::invalid_argument, "say where to: sluiced backup DIR");
  const std::string& to = arguments.words().front();
  SLUICE_LET(store, context.open_existing_store());
  SLUICE_TRY(store->copy_to(to));
  std::printf("copied to %s\n", to.c_str());
  return 0;
}

}  // namespace sluice::cli
