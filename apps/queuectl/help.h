// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "queuectl/args.h"

namespace sluice::cli {

/// What `queuectl --help` prints.
std::string program_help();
/// What `queuectl COMMAND --help` prints.
std::string command_help(const Command& command);

}  // namespace sluice::cli
