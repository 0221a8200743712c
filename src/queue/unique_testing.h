// SPDX-License-Identifier: MIT
// Jobs with the unique key "k" and who holds it, for the tests of unique keys.
#pragma once

#include <sluice/queue.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "queue/keys.h"
#include "queue/testing.h"

namespace sluice::queue {

inline constexpr UniquePolicy kUniquePolicies[] = {UniquePolicy::reject, UniquePolicy::keep,
                                                   UniquePolicy::replace};
inline const std::vector<Lane> kUnfinished = Unique{}.lanes;
inline const std::vector<Lane> kAll = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready,
                                       Lane::leased,  Lane::done, Lane::dead,      Lane::cancelled};

inline NewJob keyed(const std::string& id, UniquePolicy policy = UniquePolicy::reject,
                    const std::vector<Lane>& lanes = kUnfinished) {
  return {.queue = "q", .id = id, .unique = Unique{.key = "k", .lanes = lanes, .policy = policy}};
}

/// The key that the job holds; "-" if there is no such job.
inline std::string key_of(const Bench& bench, const std::string& id) {
  const auto job = bench->get({"q", id});
  return job ? job->unique : "-";
}

inline std::size_t stored_keys(const Bench& bench) {
  return stored(bench, "q", Space::unique);
}

/// Enqueues `job` and takes it to the lane.
inline void bring(const Bench& bench, NewJob job, Lane lane) {
  if (lane == Lane::waiting) {
    must(bench->enqueue({.queue = "q", .id = "other", .hold = true}));
    job.after = {{.id = "other"}};
  }
  job.hold = lane == Lane::held;
  if (lane == Lane::scheduled) job.delay = std::chrono::minutes(10);
  must(bench->enqueue(job));
  if (lane == Lane::cancelled) must(bench->cancel({"q", job.id}));
  if (lane != Lane::leased && lane != Lane::done && lane != Lane::dead) return;
  const Lease lease = must_claim(bench, "q");
  if (lane == Lane::done) must(bench->ack({.queue = "q", .token = lease.token}));
  if (lane == Lane::dead) must(bench->fail({.queue = "q", .token = lease.token, .dead = true}));
}

}  // namespace sluice::queue
