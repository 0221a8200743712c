// SPDX-License-Identifier: MIT
#include <sluice/backoff.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"

namespace sluice {
namespace {

// The whole nanoseconds of `share` of `whole`, never more than `limit`. `share` may be infinite.
Duration part_of(Duration whole, double share, Duration limit) {
  if (whole == Duration::zero() || share == 0) return Duration::zero();
  const double scaled = static_cast<double>(whole.count()) * share;
  // Compared before the conversion: a double beyond the integer's range has no value there.
  if (scaled >= static_cast<double>(limit.count())) return limit;
  return Duration(static_cast<Duration::rep>(scaled));
}

}  // namespace

Status validate(const BackoffPolicy& policy) {
  if (policy.base < Duration::zero())
    return error(Code::invalid_argument, "backoff base must not be negative");
  if (policy.cap < Duration::zero())
    return error(Code::invalid_argument, "backoff cap must not be negative");
  // Written so that a NaN fails too.
  if (!(policy.factor >= kBackoffFactorMin) || std::isinf(policy.factor)) {
    return error(Code::invalid_argument,
                 "backoff factor " + std::to_string(policy.factor) + " must be finite, 1 or more");
  }
  if (!(policy.jitter >= 0 && policy.jitter <= kBackoffJitterMax)) {
    return error(Code::invalid_argument,
                 "backoff jitter " + std::to_string(policy.jitter) + " must be within 0 and 1");
  }
  return {};
}

Duration backoff_delay(const BackoffPolicy& policy, unsigned attempt, double unit) {
  SLUICE_CHECK(validate(policy).ok());
  SLUICE_CHECK(attempt >= 1);
  SLUICE_CHECK(unit >= 0 && unit < 1);
  const double growth = std::pow(policy.factor, attempt - 1);
  // Unscaled, the base is used as it is: a double holds only 53 of its bits.
  const Duration delay =
      growth == 1 ? std::min(policy.base, policy.cap) : part_of(policy.base, growth, policy.cap);
  return delay - part_of(delay, policy.jitter * unit, delay);
}

}  // namespace sluice
