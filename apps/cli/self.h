// SPDX-License-Identifier: MIT
// This program once more, in a process of its own: for what may end it, such as reading a damaged
// store.
#pragma once

#include <sluice/result.h>

#include <string>
#include <vector>

namespace sluice::cli {

struct SelfRun {
  int exit_code = 0;
  std::string signal = {};  ///< "SIGSEGV" if one ended it; the code says nothing then.
  std::string output = {};  ///< Standard output and standard error.
};

/// Runs it with these arguments and this environment, and waits for its end.
Result<SelfRun> run_self(std::vector<std::string> arguments);

}  // namespace sluice::cli
