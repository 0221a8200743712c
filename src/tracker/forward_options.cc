// SPDX-License-Identifier: MIT
#include "tracker/forward_options.h"

#include <string>

namespace sluice::tracker {
namespace {

Failure wrong(const char* what) {
  return error(Code::invalid_argument, std::string("forward: ") + what);
}

}  // namespace

Status validate(const ForwardOptions& options) {
  if (options.upstreams_per_announce_max < 1)
    return wrong("upstreams_per_announce_max must be 1 or more");
  if (options.slots_base < 1) return wrong("slots_base must be 1 or more");
  if (options.slots_max != 0 && options.slots_max < options.slots_base)
    return wrong("slots_max is below slots_base");
  if (options.scale_down_pct > options.scale_up_pct)
    return wrong("scale_down_pct is above scale_up_pct");
  if (options.in_flight_max < 1) return wrong("in_flight_max must be 1 or more");
  if (options.in_flight_unproven_max < 1) return wrong("in_flight_unproven_max must be 1 or more");
  if (options.attempts_max < 1 || options.attempts_max > kAttemptsMax)
    return wrong("attempts_max must be 1 to 255");
  for (const Duration duration : {options.full_delay, options.scale_every, options.retry_period,
                                  options.timeout, options.suspend, options.interval_default,
                                  options.interval_min, options.farewell, options.peers_age})
    if (duration <= Duration{}) return wrong("every duration must be above 0");
  if (options.interval_max < options.interval_min) return wrong("interval_max is below the least");
  if (!(options.interval_jitter >= 0 && options.interval_jitter <= 1))
    return wrong("interval_jitter must be 0 to 1");
  SLUICE_TRY(validate(options.upstream_rate));
  SLUICE_TRY(validate(options.first_rate));
  SLUICE_TRY(validate(options.retry));
  SLUICE_TRY(validate(options.refusal));
  SLUICE_TRY(validate(options.breaker));
  return {};
}

}  // namespace sluice::tracker
