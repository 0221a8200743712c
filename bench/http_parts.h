// SPDX-License-Identifier: MIT
// The parts of bench_http.
#pragma once

#include "parts.h"

namespace sluice::bench {

/// One push per request, beside a handler without a store and the queue layer without HTTP.
Status measure_push(const Part& part);
/// A hundred jobs per request, beside the queue layer.
Status measure_batches(const Part& part);

/// Push, pop and complete by many workers: how even the answers are, beside a loop that syncs.
Status measure_cycles(const Part& part);
/// The same beside a million jobs, and beside 10,000 groups that may not run: what it costs more.
Status measure_crowded_queues(const Part& part);
/// The same beside 2,000 idle connections and 500 claims that wait.
Status measure_idle(const Part& part);

/// The other process of `push`: a hidden command. Serves on a free port until SIGTERM, parses what
/// is pushed and answers, without a store.
inline constexpr const char* kBareServerCommand = "child-bare-server";
Status bare_server_process();

}  // namespace sluice::bench
