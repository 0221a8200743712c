// SPDX-License-Identifier: MIT
// The commands, by the files they are in.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"

namespace sluice::cli {

std::vector<Command> compare_commands();
std::vector<Command> copy_commands();  ///< copy, run.
std::vector<Command> report_commands();
std::vector<Command> status_commands();
std::vector<Command> ls_commands();
std::vector<Command> why_commands();
std::vector<Command> retry_commands();
std::vector<Command> exclude_commands();  ///< exclude, include.
std::vector<Command> verify_commands();

/// The words that are no options, and all that follow "--": for names that begin with "-".
std::vector<std::string> operands(const Arguments& arguments);

/// "--state DIR", which almost all of them take.
Option state_option();
/// "--json".
Option json_option();

}  // namespace sluice::cli
