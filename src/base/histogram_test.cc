// SPDX-License-Identifier: MIT
#include "base/histogram.h"

#include <gtest/gtest.h>
#include <sluice/random.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice {
namespace {

TEST(Histogram, an_empty_one_says_zero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(0.99), 0u);
}

TEST(Histogram, small_values_are_exact) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 16; ++value) histogram.record(value);
  EXPECT_EQ(histogram.percentile(0.5), 7u);
  EXPECT_EQ(histogram.percentile(1), 15u);
  EXPECT_EQ(histogram.sum(), 120u);
}

TEST(Histogram, the_extremes_have_a_bucket) {
  Histogram histogram;
  histogram.record(0);
  histogram.record(UINT64_MAX);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.max(), UINT64_MAX);
  EXPECT_GT(histogram.percentile(1), UINT64_MAX / 16 * 15);
}

TEST(Histogram, percentiles_are_within_seven_percent) {
  SeededRandom random(11);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(random.next() >> random.below(63));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (double share : {0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * 20'000)) - 1;
    const auto truth = static_cast<double>(values[rank]);
    EXPECT_NEAR(static_cast<double>(histogram.percentile(share)), truth, truth * 0.07 + 0.5);
  }
}

}  // namespace
}  // namespace sluice
