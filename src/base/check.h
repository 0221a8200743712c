// SPDX-License-Identifier: MIT
// SLUICE_CHECK states what must hold. It stays on in release builds: a program whose assumptions
// are broken must stop before it writes anything.
#pragma once

namespace sluice {

/// Prints "file:line: check failed: condition" to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace sluice

#define SLUICE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::sluice::check_failed(__FILE__, __LINE__, #condition))
