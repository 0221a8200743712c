// SPDX-License-Identifier: MIT
// Finds, for a claim, the jobs of one queue that come next and may be claimed.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "queue/shards.h"
#include "queue/steps.h"

namespace sluice::queue {

/// Candidates come from snapshot reads of the offers; only the job that is looked at, and its
/// group, are read conflictingly. Jobs past their time to live, or of a cancelled batch, are put
/// away on the way (at most kClaimMovesMax), groups found at their limit are blocked.
class Picker {
 public:
  /// `wanted`: how many jobs the caller hopes for. `skip`: hashes of groups to pass over.
  Picker(Steps& steps, QueueState& queue, const std::set<Bytes16>& skip, std::size_t wanted);

  /// Before the first look: the shards, and what the queue's rate and slots allow.
  Status open();
  /// The next job, which stays the next until take_it() is called; null if there is none.
  Result<const JobState*> look();
  /// Moves the job that look() showed to the lane leased, if there is a slot for it: then it is
  /// returned.
  Result<std::optional<JobState>> take_it(Duration lease, const std::string& worker);
  /// After the last take: writes the rate's bucket and the fair rounds.
  Status close();

  QueueState& queue() { return queue_; }
  const std::vector<std::uint32_t>& shards_opened() const { return opened_; }
  /// There was too much to put away for one transaction.
  bool cut_short() const { return put_away_ >= kClaimMovesMax; }
  /// Jobs were put away. What waited for them may be ready with this commit: claim again.
  bool made_way() const { return put_away_ > 0; }
  /// When the rate lets the next job through, if that is what stands in the way.
  std::optional<Millis> rate_ready() const { return rate_ready_; }

 private:
  struct Candidate {
    Spot spot = {};
    Offered offered = {};
    std::uint32_t shard = 0;
    friend bool operator<(const Candidate& a, const Candidate& b) { return a.spot < b.spot; }
  };
  struct ShardScan {
    std::uint32_t shard = 0;
    kv::Range rest = {};
    std::vector<Candidate> found = {};  ///< Last first.
    bool exhausted = false;
  };

  Status open_rate();
  Status open_slots();
  void open_shard(std::uint32_t shard);
  Status fill(ShardScan& scan);
  Result<std::optional<Candidate>> next_candidate();
  Result<bool> resolve(const Candidate& candidate);
  Result<bool> resolve_group(const Candidate& candidate);
  Status offer_again(const Candidate& taken);
  Status put_away(Lane lane, DeathReason reason);
  Result<bool> take_slot_for_it();
  Status end_turn();

  Steps& steps_;
  QueueState& queue_;
  const std::set<Bytes16>& skip_;
  const std::size_t wanted_;

  ShardPlan plan_;
  std::size_t others_opened_ = 0;
  std::vector<std::uint32_t> opened_;
  std::vector<ShardScan> scans_;
  std::multiset<Candidate> again_;  ///< Groups that gave a job and have another.

  std::optional<JobState> current_;
  Candidate current_from_ = {};
  std::map<std::uint32_t, std::uint64_t> rounds_;  ///< By shard: the last round served.

  std::size_t allowance_ = SIZE_MAX;
  std::optional<BucketState> bucket_;
  std::uint64_t tokens_taken_ = 0;
  std::optional<Millis> rate_ready_;
  std::vector<std::string> slots_;
  std::size_t put_away_ = 0;
};

}  // namespace sluice::queue
