// SPDX-License-Identifier: MIT
#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace sluice {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

long futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout, std::uint32_t bits = 0) {
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, bits);
}

timespec to_timespec(Duration duration) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = whole.count(), .tv_nsec = (duration - whole).count()};
}

}  // namespace

bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Duration timeout) {
  if (timeout <= Duration::zero()) return false;
  const timespec relative = to_timespec(timeout);
  return futex(word, FUTEX_WAIT, expected, &relative) == 0 || errno != ETIMEDOUT;
}

void futex_wake(const std::atomic<std::uint32_t>& word) {
  futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

void futex_wait_private(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::uint32_t bits) {
  futex(word, FUTEX_WAIT_BITSET_PRIVATE, expected, nullptr, bits);
}

void futex_wait_private(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        Duration timeout) {
  if (timeout <= Duration::zero()) return;
  const timespec relative = to_timespec(timeout);
  futex(word, FUTEX_WAIT_PRIVATE, expected, &relative);
}

void futex_wake_private(const std::atomic<std::uint32_t>& word, std::uint32_t bits) {
  futex(word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, bits);
}

}  // namespace sluice
