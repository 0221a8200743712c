// SPDX-License-Identifier: MIT
// How much a test does, and how it says what it did.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace sluice::test {

/// Counts for SLUICE_QUICK (mutants: a few seconds), for ./test, and for SLUICE_LONG.
struct RunSize {
  std::uint64_t quick;
  std::uint64_t normal;
  std::uint64_t long_run;

  std::uint64_t pick() const {
    if (std::getenv("SLUICE_QUICK") != nullptr) return quick;
    return std::getenv("SLUICE_LONG") != nullptr ? long_run : normal;
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
