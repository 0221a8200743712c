// SPDX-License-Identifier: MIT
// The parts of bench_flows. Each measures some promises in its own directories and adds its rows.
#pragma once

#include <sluice/result.h>

#include <string>

#include "parts.h"
#include "queue_load.h"

namespace sluice::bench {

/// Jobs with a unique key against jobs without.
Status measure_unique(const Part& part);
/// A queue that writes its events against one that does not.
Status measure_events(const Part& part);
/// Claims beside many jobs that wait for others.
Status measure_waiting(const Part& part);
/// Many jobs that wait for one, once that one is done.
Status measure_dependants(const Part& part);
/// The members of one large batch against the same jobs without it.
Status measure_members(const Part& part);
/// The firing of schedules.
Status measure_schedules(const Part& part);

/// A store in its own directory, with the events of kQueue on or off.
Result<Shop> open_shop(const std::string& dir, bool events);

/// "1M", "100k".
std::string short_number(std::uint64_t jobs);

}  // namespace sluice::bench
