// SPDX-License-Identifier: MIT
// A program that serves when it is given no command.
#pragma once

#include <sluice/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"

namespace sluice::cli {

/// "sluiced: TEXT" on standard error, fit for a terminal.
void complain(std::string_view text);

/// Finds the command that the words name, or the first of all_commands(), which has no name, and
/// answers --help and --version by itself; `run` does the rest. The exit code; what failed has been
/// said.
int run_program(std::vector<std::string> words, std::string_view version,
                Result<int> (*run)(const Command& command, const Arguments& arguments));

}  // namespace sluice::cli
