// SPDX-License-Identifier: MIT
// How much a test does, and how it says what it did.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace sluice::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_SANITIZED 1
#endif
#endif
#ifdef SLUICE_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Counts for SLUICE_QUICK (mutants: a few seconds), for ./test, and for SLUICE_LONG. Sanitizers
/// are several times slower, and get a fifth of the second.
struct RunSize {
  std::uint64_t quick;
  std::uint64_t normal;
  std::uint64_t long_run;

  std::uint64_t pick() const {
    if (std::getenv("SLUICE_QUICK") != nullptr) return quick;
    if (std::getenv("SLUICE_LONG") != nullptr) return long_run;
    return kSanitized ? std::max(quick, normal / 5) : normal;
  }
};

/// The seed of a random test: SLUICE_SEED if it is set, else `usual`.
inline std::uint64_t seed_or(std::uint64_t usual) {
  const char* text = std::getenv("SLUICE_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}

/// ./test collects these lines.
inline void print_figure(std::string_view name, std::uint64_t value) {
  std::cout << "figure " << name << " " << value << std::endl;
}

}  // namespace sluice::test
