// SPDX-License-Identifier: MIT
#include "base/histogram.h"

#include <algorithm>
#include <cmath>

namespace sluice {

// Values below 2^kStepBits have a bucket each; above, the bucket is the exponent and the kStepBits
// bits after the leading one.
std::size_t Histogram::bucket_of(std::uint64_t value) {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kStepBits) return static_cast<std::size_t>(value);
  const unsigned shift = width - kStepBits - 1;
  return ((static_cast<std::size_t>(shift) + 1) << kStepBits) +
         static_cast<std::size_t>((value >> shift) - (std::uint64_t{1} << kStepBits));
}

std::uint64_t Histogram::middle_of(std::size_t bucket) {
  if (bucket < (std::size_t{2} << kStepBits)) return bucket;
  const std::size_t shift = (bucket >> kStepBits) - 1;
  const std::uint64_t low =
      ((std::uint64_t{1} << kStepBits) + (bucket & ((std::size_t{1} << kStepBits) - 1))) << shift;
  return low + ((std::uint64_t{1} << shift) >> 1);
}

void Histogram::record(std::uint64_t value) {
  constexpr auto relaxed = std::memory_order_relaxed;
  buckets_[bucket_of(value)].fetch_add(1, relaxed);
  count_.fetch_add(1, relaxed);
  sum_.fetch_add(value, relaxed);
  std::uint64_t seen = max_.load(relaxed);
  while (seen < value && !max_.compare_exchange_weak(seen, value, relaxed)) {
  }
}

std::uint64_t Histogram::count_below(std::uint64_t bound) const {
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < bucket_of(bound); ++bucket)
    below += buckets_[bucket].load(std::memory_order_relaxed);
  return below;
}

std::uint64_t Histogram::percentile(double share) const {
  const std::uint64_t total = count();
  if (total == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(
      std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(total)));
  std::uint64_t passed = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    passed += buckets_[bucket].load(std::memory_order_relaxed);
    if (passed >= rank && passed > 0) return std::min(middle_of(bucket), max());
  }
  return max();
}

}  // namespace sluice
