// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cli/args.h"

namespace sluice::cli {

/// What `PROGRAM COMMAND --help` prints.
std::string command_help(const Command& command);
/// "  name              summary".
std::string command_line(const Command& command);
/// "  -q, --quiet                 print no messages".
std::string option_line(const Option& option);

}  // namespace sluice::cli
