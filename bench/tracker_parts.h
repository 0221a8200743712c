// SPDX-License-Identifier: MIT
// The parts of bench_tracker.
#pragma once

#include "parts.h"

namespace sluice::bench {

/// Announces to the swarms in memory: small ones and a large one, one thread and two, and the
/// memory of a million peers.
Status measure_swarms(const Part& part);

}  // namespace sluice::bench
