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

/// Wakes all sleepers on `word`, in every process that maps it.
void futex_wake(const std::atomic<std::uint32_t>& word);

/// Cheaper, for threads of one process only, and without a time limit: a sleeper is woken by those
/// wakers whose `bits` have one in common with its own.
void futex_wait_private(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::uint32_t bits);
/// The same with a time limit, for any waker.
void futex_wait_private(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        Duration timeout);
void futex_wake_private(const std::atomic<std::uint32_t>& word, std::uint32_t bits);

inline constexpr std::uint32_t kFutexAllBits = ~std::uint32_t{0};

}  // namespace sluice
