// SPDX-License-Identifier: MIT
// Counts of measurements by magnitude, for percentiles at the cost of one relaxed increment.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace sluice {

/// Thread-safe; recording costs a few nanoseconds. Each power of two is cut into eight buckets, and
/// a percentile is reported as its bucket's middle, so it is within 7 % of the truth.
class Histogram {
 public:
  void record(std::uint64_t value);

  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  std::uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }
  std::uint64_t max() const { return max_.load(std::memory_order_relaxed); }
  /// How many measurements were below `bound`, a power of two.
  std::uint64_t count_below(std::uint64_t bound) const;
  /// The value that `share` (0..1) of the measurements do not exceed; 0 if there are none.
  std::uint64_t percentile(double share) const;

 private:
  static constexpr unsigned kStepBits = 3;
  static constexpr std::size_t kBuckets = (64 - kStepBits + 1) << kStepBits;

  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t middle_of(std::size_t bucket);

  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> sum_{0};
  std::atomic<std::uint64_t> max_{0};
};

}  // namespace sluice
