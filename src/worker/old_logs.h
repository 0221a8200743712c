// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/clock.h>

#include <cstdint>
#include <string>

namespace sluice::worker {

/// Removes the output files in the folder of this number, 0 to 255, below `root` that nobody has
/// written to since `before`. Returns how many. What cannot be removed stays.
std::uint64_t remove_old_logs(const std::string& root, unsigned folder, WallTime before);

}  // namespace sluice::worker
