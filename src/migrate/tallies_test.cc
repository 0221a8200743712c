// SPDX-License-Identifier: MIT
#include "migrate/tallies.h"

#include <gtest/gtest.h>
#include <sluice/random.h>

#include <map>

#include "tests/support/run_size.h"

namespace sluice::migrate {
namespace {

TallyKey key_of(std::uint64_t number) {
  return {.what = static_cast<Tally>(number % 9),
          .level = static_cast<std::uint32_t>(number / 9 % 4),
          .which = static_cast<std::uint8_t>(number / 36)};
}

using Model = std::map<TallyKey, std::int64_t>;

Model model_of(const Tallies& tallies) {
  return {tallies.begin(), tallies.end()};
}

TEST(Tallies, keys_are_ordered_by_what_then_level_then_which) {
  const TallyKey least{.what = Tally::src, .level = 5, .which = 9};
  const TallyKey middle{.what = Tally::dst, .level = 0, .which = 9};
  const TallyKey most{.what = Tally::dst, .level = 1, .which = 0};
  EXPECT_LT(least, middle);
  EXPECT_LT(middle, most);
}

/// Whatever is added to whatever, it is what a map says, and stays in order.
TEST(Tallies, sums_are_those_of_a_map) {
  const std::uint64_t first = test::seed_or(1);
  for (std::uint64_t seed = first; seed < first + 300; ++seed) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    SeededRandom random(seed);
    const std::uint64_t keys = 1 + random.below(100);
    const auto random_tallies = [&](Model& model) {
      Tallies tallies;
      for (std::uint64_t i = random.below(20); i > 0; --i) {
        const TallyKey key = key_of(random.below(keys));
        const auto delta = static_cast<std::int64_t>(random.below(9)) - 4;
        tallies[key] += delta;
        model[key] += delta;
      }
      return tallies;
    };
    Model expected;
    Tallies sum = random_tallies(expected);
    for (int i = 0; i < 5; ++i) {
      Model added;
      const Tallies other = random_tallies(added);
      const std::int64_t sign = random.below(2) == 0 ? 1 : -1;
      sum.add(other, sign);
      for (const auto& [key, delta] : added) expected[key] += sign * delta;
      ASSERT_EQ(model_of(sum), expected);
      ASSERT_EQ(sum.size(), expected.size()) << "a key is there twice";
      ASSERT_TRUE(std::is_sorted(sum.begin(), sum.end()));
    }
  }
}

}  // namespace
}  // namespace sluice::migrate
