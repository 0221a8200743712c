// SPDX-License-Identifier: MIT
#include <sluice/random.h>
#include <sys/random.h>

#include "base/check.h"

namespace sluice {

std::uint64_t Random::below(std::uint64_t bound) {
  SLUICE_CHECK(bound > 0);
  // Numbers under `unfair` would make the low remainders more likely than the others.
  const std::uint64_t unfair = (0 - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < unfair) drawn = next();
  return drawn % bound;
}

std::uint64_t SystemRandom::next() {
  std::uint64_t value = 0;
  SLUICE_CHECK(getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value));
  return value;
}

}  // namespace sluice
