// SPDX-License-Identifier: MIT
// The load that bench_queue puts on the queues of a store.
#pragma once

#include <sluice/queue.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "first_failure.h"

namespace sluice::bench {

inline constexpr std::size_t kBatch = 256;
inline constexpr std::size_t kPayloadBytes = 200;
/// The queue of every measurement.
inline constexpr const char* kQueue = "work";
/// Longer than any run, so that no lease is over before its measurement is.
inline constexpr Duration kLongLease = std::chrono::hours(24);

/// A store and its queues.
struct Shop {
  std::unique_ptr<kv::Store> store;
  std::unique_ptr<queue::Queues> queues;

  static Result<Shop> open(const std::string& dir);
};

/// What was done, and at what cost.
struct Work {
  std::uint64_t jobs = 0;
  Cost cost = {};

  /// Runs `step`, which is about `count` jobs, and adds its cost.
  template <class Step>
  Status measure(std::uint64_t count, const Step& step) {
    const Stopwatch watch;
    SLUICE_TRY(step());
    const Cost spent = watch.read();
    jobs += count;
    cost.wall_seconds += spent.wall_seconds;
    cost.cpu_seconds += spent.cpu_seconds;
    return {};
  }
  double per_second() const { return static_cast<double>(jobs) / cost.wall_seconds; }
  double cpu_us_each() const { return cost.cpu_seconds * 1e6 / static_cast<double>(jobs); }
};

/// A job without a group, with a payload of kPayloadBytes and no id of its own.
queue::NewJob plain_job();
std::vector<queue::NewJob> plain_batch();

/// Each fails unless it succeeds for every job.
Status enqueue_all(queue::Queues& queues, std::span<const queue::NewJob> jobs);
Result<std::vector<queue::Lease>> claim_all(queue::Queues& queues, std::size_t count);
Status ack_all(queue::Queues& queues, const std::vector<queue::Lease>& leases);

/// Enqueues `count` jobs in large batches, on several threads that share commits. `make` is given
/// the numbers from 0, in no order, and is called on those threads.
using MakeJob = std::function<queue::NewJob(std::uint64_t number)>;
Status fill(queue::Queues& queues, std::uint64_t count, const MakeJob& make);

/// `batches` times: the jobs that `make` returns are enqueued, then as many claimed and acked; only
/// the latter is measured. The backlog stays as long as it is.
using MakeBatch = std::function<std::vector<queue::NewJob>()>;
Result<Work> turn_over(queue::Queues& queues, const MakeBatch& make, std::uint64_t batches);

}  // namespace sluice::bench
