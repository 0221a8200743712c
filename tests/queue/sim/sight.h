// SPDX-License-Identifier: MIT
// One look at everything that the queue layer shows of a store.
#pragma once

#include <sluice/queue.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::queue::sim {

struct Seen {
  Job job = {};
  /// When it got its place in the ready lane, counted by the oracle; kept while it is leased.
  std::uint64_t place = 0;

  bool ready() const { return job.lane == Lane::ready; }
  bool leased() const { return job.lane == Lane::leased; }
  bool finished() const {
    return job.lane == Lane::done || job.lane == Lane::dead || job.lane == Lane::cancelled;
  }
  bool before(const Seen& other) const {
    if (job.priority != other.job.priority) return job.priority < other.job.priority;
    return place < other.place;
  }
};

struct QueueSight {
  Queue queue = {};
  std::vector<Group> groups = {};
  std::vector<Seen> jobs = {};  ///< By number.

  const Seen* by_number(const kv::Mark& number) const;
  const Seen* by_id(std::string_view id) const;
  std::uint64_t active() const;
  std::uint64_t active(std::string_view group) const;
  std::uint64_t backlog() const;
  /// How many jobs of the group may be leased; nothing: any number.
  std::optional<std::uint32_t> limit_of(std::string_view group) const;
  /// The group has no free slot.
  bool group_full(std::string_view group) const;
};

struct Sight {
  std::vector<QueueSight> queues = {};

  const QueueSight* find(std::string_view queue) const;
  std::size_t job_count() const;
};
using SightPtr = std::shared_ptr<const Sight>;

/// Reads `names` anew. Queues that do not exist are left out; places are not filled in.
Result<std::shared_ptr<Sight>> look(Queues& queues, const std::vector<std::string>& names);

}  // namespace sluice::queue::sim
