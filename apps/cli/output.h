// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace sluice::cli {

/// Writes all of it. If nobody reads standard output any more the program ends; what standard error
/// does not take is lost.
void write_all(int fd, std::string_view text);

}  // namespace sluice::cli
