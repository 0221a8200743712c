// SPDX-License-Identifier: MIT
// The parts of bench_tracker.
#pragma once

#include "parts.h"

namespace sluice::bench {

/// Announces to the swarms in memory: small ones and a large one, one thread and two, and the
/// memory of a million peers.
Status measure_swarms(const Part& part);
/// Announces over UDP, beside opentracker.
Status measure_udp(const Part& part);
/// The same over HTTP.
Status measure_http(const Part& part);
/// The forward engine beside a million jobs that wait for their time.
Status measure_timers(const Part& part);
/// How soon many upstreams have heard of many torrents.
Status measure_forward(const Part& part);
/// What local peers notice of it.
Status measure_together(const Part& part);

}  // namespace sluice::bench
