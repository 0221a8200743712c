// SPDX-License-Identifier: MIT
#include "cli/self.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "exec/process.h"

namespace sluice::cli {

Result<SelfRun> run_self(std::vector<std::string> arguments) {
  const Descriptor output(memfd_create("output", MFD_CLOEXEC));
  if (!output.valid()) return error(Code::unavailable, "cannot make a memfd");
  arguments.insert(arguments.begin(), "/proc/self/exe");
  std::vector<std::string> env;
  for (char** line = environ; *line != nullptr; ++line) env.emplace_back(*line);
  SLUICE_LET(process,
             exec::Process::start({.argv = arguments, .env = env, .output = output.get()}));
  SLUICE_LET(ending, process.wait());
  SelfRun run{.exit_code = ending.exit_code};
  if (ending.signal != 0) run.signal = std::string("SIG") + sigabbrev_np(ending.signal);
  char buffer[1 << 14];
  lseek(output.get(), 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(output.get(), buffer, sizeof buffer)) > 0;)
    run.output.append(buffer, static_cast<std::size_t>(got));
  return run;
}

}  // namespace sluice::cli
