// SPDX-License-Identifier: MIT
// Jobs to wait for and ways to end them, for the tests of dependencies.
#pragma once

#include <sluice/queue.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {

inline constexpr AfterPolicy kAfterPolicies[] = {AfterPolicy::success, AfterPolicy::end,
                                                 AfterPolicy::cancel};

/// "name-0" to the number before `count`.
inline Ids numbered(const std::string& name, std::size_t count) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(name + "-" + std::to_string(i));
  return ids;
}

inline std::vector<After> after_all(const std::string& queue, const Ids& ids,
                                    AfterPolicy policy = AfterPolicy::success) {
  std::vector<After> after;
  for (const std::string& id : ids) after.push_back({.queue = queue, .id = id, .policy = policy});
  return after;
}

inline void enqueue_all(const Bench& bench, const std::vector<NewJob>& jobs) {
  for (const auto& result : bench->enqueue(jobs)) must(result);
}

/// Claims and acks up to `count` jobs of the queue, in one transaction each.
inline void run_jobs(const Bench& bench, const std::string& queue, std::size_t count = 1) {
  std::vector<AckRequest> acks;
  for (const Lease& lease : must(bench->claim({.queues = {queue}, .jobs_max = count})))
    acks.push_back({.queue = queue, .token = lease.token});
  EXPECT_EQ(acks.size(), count);
  for (const Status& status : bench->ack(acks)) must(status);
}

inline void run_job(const Bench& bench, const std::string& queue, const std::string& id) {
  const Lease lease = must_claim(bench, queue);
  EXPECT_EQ(lease.id, id);
  must(bench->ack({.queue = queue, .token = lease.token}));
}

// How the job "p" of queue "p" ends.

inline void ack_it(const Bench& bench) {
  must(bench->ack({.queue = "p", .token = must_claim(bench, "p").token}));
}

inline void refuse_it(const Bench& bench) {
  must(bench->fail({.queue = "p", .token = must_claim(bench, "p").token, .dead = true}));
}

inline void cancel_it(const Bench& bench) {
  must(bench->cancel({"p", "p"}));
}

/// The job "p" of queue "p", which two failures and two hours are enough for.
inline Bench with_parent(EngineKind kind) {
  using namespace std::chrono_literals;
  Bench bench = open_bench(kind);
  const RetryPolicy once{.attempts_max = 1};
  must(bench->configure("p", {.retry = once, .done_retention = 2h, .dead_retention = 2h}));
  must(bench->configure("c", {.retry = once, .done_retention = 5h, .dead_retention = 5h}));
  must(bench->enqueue({.queue = "p", .id = "p", .ttl = 1h}));
  return bench;
}

}  // namespace sluice::queue
