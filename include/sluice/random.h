// SPDX-License-Identifier: MIT
// Chance as a seam: everything random in Sluice is drawn from a Random, so that a failing run can
// be repeated from its seed.
#pragma once

#include <cstdint>
#include <random>

namespace sluice {

/// A source of random numbers. Not thread-safe, unless the implementation says otherwise.
class Random {
 public:
  virtual ~Random() = default;
  /// 64 uniform bits.
  virtual std::uint64_t next() = 0;

  /// Uniform in [0, bound), without modulo bias. `bound` must not be 0.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// True with the given probability; 0 never, 1 always.
  bool chance(double probability) { return unit() < probability; }
};

/// The same numbers for the same seed, on every machine and compiler.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

/// The kernel's randomness: unpredictable, fit for ids and tokens. Thread-safe.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

}  // namespace sluice
