// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/result.h>

#include <string>

namespace sluice::exec {

/// The failure of a system call: "doing: the kernel's words; what to do next". `error` is an errno
/// that is not 0. Errors that this room expects have a code of their own; the others are io_error.
Failure system_failure(int error, const std::string& doing);

}  // namespace sluice::exec
