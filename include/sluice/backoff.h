// SPDX-License-Identifier: MIT
// How long to wait before the next attempt: exponential, capped, optionally spread by chance.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <chrono>

namespace sluice {

/// A factor below this would make later attempts come sooner.
inline constexpr double kBackoffFactorMin = 1;
/// With all of the delay left to chance a retry may come at once.
inline constexpr double kBackoffJitterMax = 1;

/// The first delay is `base`; each further one is `factor` times the one before, up to `cap`.
/// "b to the power of attempts", in seconds, is base = b s with factor = b.
struct BackoffPolicy {
  Duration base = std::chrono::seconds(1);
  double factor = 2;
  Duration cap = std::chrono::minutes(5);  ///< May be below `base`; then every delay is the cap.
  double jitter = 0;                       ///< The share of each delay that is random, 0 to 1.
};

/// invalid_argument, naming the member and what is allowed, unless: base and cap are not negative,
/// factor is finite and at least kBackoffFactorMin, jitter is within 0 .. kBackoffJitterMax.
Status validate(const BackoffPolicy& policy);

/// The time to wait after attempt number `attempt` (the first is 1) has failed. `unit` is uniform
/// in [0, 1), drawn by the caller; jitter takes away up to that share of the delay, never adds.
/// The result is within [0, cap] for every attempt number, and without jitter it never falls as
/// attempts grow. The policy must be valid and the numbers in range (checked). Constant time.
Duration backoff_delay(const BackoffPolicy& policy, unsigned attempt, double unit);

}  // namespace sluice
