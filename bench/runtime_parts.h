// SPDX-License-Identifier: MIT
// The parts of bench_runtime.
#pragma once

#include "parts.h"

namespace sluice::bench {

/// Ready work through the delay queue, against other priority queues.
Status measure_ready(const Part& part);
/// A million scheduled items: adding, cancelling, firing, idling.
Status measure_scheduled(const Part& part);
/// A look at a breaker, a token from a bucket, a key held.
Status measure_guards(const Part& part);

/// `count` times what `step` does: nanoseconds of CPU for each.
template <class Step>
double cpu_ns_each(std::uint64_t count, const Step& step) {
  const Stopwatch watch;
  for (std::uint64_t i = 0; i < count; ++i) step(i);
  return watch.read().cpu_seconds * 1e9 / static_cast<double>(count);
}

}  // namespace sluice::bench
