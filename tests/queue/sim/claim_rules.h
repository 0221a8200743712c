// SPDX-License-Identifier: MIT
// What a claim may hand out, and what it must.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tests/queue/sim/call.h"
#include "tests/queue/sim/sight.h"
#include "tests/queue/sim/tally.h"

namespace sluice::queue::sim {

/// P7 and P8, over all claims of a run.
class ClaimRules {
 public:
  explicit ClaimRules(Tally& tally) : tally_(tally) {}

  /// Judges an acknowledged claim that is no replay. `begin` was seen when it was made, `before`
  /// just before it committed. Returns what is wrong with it.
  std::optional<std::string> judge(const Call& call, const Sight& begin, const Sight& before,
                                   const Sight& after);
  /// Any other change of what is seen: limits that moved, groups that came and went.
  void observe(const Call& call, const Sight& before, const Sight& after);
  /// Claims that nobody can tell apart any more: what depends on each single one starts anew.
  void forget();

 private:
  struct Bucket {
    double tokens = 0;
    WallTime as_of = {};
  };
  using Complaint = std::optional<std::string>;

  Complaint judge_limits(const Call& call, const QueueSight& before, const QueueSight& after);
  Complaint judge_order(const Call& call, const QueueSight& begin, const QueueSight& after);
  Complaint judge_order_over_queues(const Call& call, const Sight& after);
  Complaint judge_offer(const Call& call, const QueueSight& begin, const QueueSight& after);
  Complaint judge_turns(const Call& call, const QueueSight& begin, const QueueSight& after);
  Complaint judge_rate(const Call& call, const QueueSight& after);
  void note_probes(const Call& call, const QueueSight& before, const QueueSight& after);
  bool claimable(const Call& call, const QueueSight& begin, const QueueSight& after,
                 const Seen& job) const;

  Tally& tally_;
  std::set<std::string> reviewing_;  // Queues whose group limit was raised a moment ago.
  std::map<std::string, Bucket> buckets_;
  struct Wait {
    std::set<std::uint64_t> places;     // Of jobs that have been claimable all the time.
    std::map<std::string, int> served;  // By group: how often, meanwhile.
  };
  std::map<std::string, std::map<std::string, Wait>> turns_;  // By queue and waiting group.
  std::map<std::pair<std::string, std::string>, std::uint64_t> raised_from_;
  std::map<std::string, std::map<std::size_t, WallTime>> claimers_;
};

}  // namespace sluice::queue::sim
