// SPDX-License-Identifier: MIT
// The jobs that are ready, in line for their upstreams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tracker/forward_job.h"

namespace sluice::tracker {

/// A line for each upstream and priority, all together bounded by one capacity. In a line who came
/// first goes first.
///
/// Concurrency: not thread-safe. Limits: the capacity is advice to the caller, who asks full()
/// before push(). Cost: every call O(1).
class ForwardQueue {
 public:
  /// `jobs` outlives it. A capacity of 0 or less is kQueueCapacityFallback.
  ForwardQueue(JobTable& jobs, std::int64_t capacity);

  std::size_t depth() const { return depth_; }
  std::size_t capacity() const { return capacity_; }
  bool full() const { return depth_ >= capacity_; }
  /// In percent, rounded down.
  std::uint64_t fill_pct() const { return std::uint64_t{100} * depth_ / capacity_; }

  /// By its upstream and priority. The job is then `queued`.
  void push(JobId id);
  /// The job leaves its line, and is idle.
  void remove(JobId id);

  bool has(UpstreamId upstream) const { return first(upstream) != kNobody; }
  std::size_t count(UpstreamId upstream) const;
  /// The next job of the upstream, which stays; kNobody if there is none.
  JobId first(UpstreamId upstream) const;
  /// Of the least urgent jobs the one that came last, which stays; kNobody if there is none.
  JobId least() const;

 private:
  JobTable& jobs_;
  const std::size_t capacity_;
  std::size_t depth_ = 0;
  std::vector<std::array<JobLine, kJobPriorities>> lines_;  ///< By upstream.
  std::array<JobRank, kJobPriorities> ranks_ = {};
};

}  // namespace sluice::tracker
