// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace sluice::cli {

/// What `queuectl --help` prints.
std::string program_help();

}  // namespace sluice::cli
