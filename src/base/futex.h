// SPDX-License-Identifier: MIT
// Sleeping until a 32-bit word changes, within a process or, in shared memory, between processes.
#pragma once

#include <sluice/clock.h>

#include <atomic>
#include <cstdint>

namespace sluice {

/// Sleeps while `word` holds `expected`, at most for `timeout`. May return early for no reason.
/// Returns false only if the whole timeout passed.
bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Duration timeout);

/// Sleeps while `word` holds `expected`, however long.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected);

/// Wakes up to `count` sleepers on `word`, in every process that maps it.
void futex_wake(const std::atomic<std::uint32_t>& word, int count);

}  // namespace sluice
