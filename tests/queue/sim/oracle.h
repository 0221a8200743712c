// SPDX-License-Identifier: MIT
// The judge outside: it knows which calls were made and what they answered, looks at the queues
// after each of them, and says whether the two agree.
#pragma once

#include <sluice/queue.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/queue/sim/call.h"
#include "tests/queue/sim/claim_rules.h"
#include "tests/queue/sim/explain.h"
#include "tests/queue/sim/sight.h"
#include "tests/queue/sim/tally.h"

namespace sluice::queue::sim {

/// What is checked after every call:
/// - whatever became of each job is explained by the table of docs/design/queue.md, by calls that
///   were acknowledged (those must have happened), by calls that are in doubt (those may have), and
///   by time (P2, P3, P4, P5, P6);
/// - a refusal was due (P4, and the table);
/// - tokens increase, and no token completes twice (P4, P5);
/// - a repeated operation changes nothing more and answers the same (P6);
/// - claims keep the limits and the order (P7, P8: ClaimRules).
class Oracle {
 public:
  Oracle(Tally& tally, std::vector<std::string> queues)
      : tally_(tally), names_(std::move(queues)), claim_rules_(tally) {}

  /// The calls around the one that is settled: they are under way, and may have had effects.
  using Outer = std::span<const Call* const>;

  /// Judges a call that has come back. `begin` is what was seen when it was made. While the store
  /// is down nothing can be seen: then the call is judged by the next settle().
  void settle(Queues& observer, WallTime now, const Call& call, const SightPtr& begin, Outer outer);
  /// Looks again without a call: at what was put off while the store was down, or at what the calls
  /// under way have done so far.
  void refresh(Queues& observer, WallTime now, Outer outer);
  /// A crash has undone everything since `durable`, of which `calls` were not yet acknowledged.
  void roll_back(SightPtr durable, const std::vector<Call>& calls);
  /// A call that was settled as doubtful is acknowledged after all.
  void acknowledge(const Call& call);

  const SightPtr& sight() const { return sight_; }
  /// Whether some try of the operation `call_number` has happened.
  Applied applied(std::uint64_t call_number) const;
  /// The first thing that was wrong.
  const std::optional<std::string>& violation() const { return violation_; }
  void fail(std::string what);

  std::uint64_t enqueued() const { return enqueued_; }

 private:
  using JobKey = std::pair<std::string, kv::Mark>;
  struct Suspect {
    const Call* call = nullptr;
    bool settled = false;  ///< Its answer counts; else it is only under way.
  };
  struct Placing {
    std::size_t queue = 0;
    std::size_t job = 0;
    std::uint64_t item = 0;
    WallTime due = {};
  };

  void judge(Sight& after, WallTime now, const std::vector<Suspect>& suspects);
  void judge_queue(const QueueSight* before, QueueSight& after, WallTime now,
                   const std::vector<Suspect>& suspects);
  void judge_job(const Seen* before, Seen* after, const QueueSight& queue,
                 const Circumstances& usual, const std::vector<Suspect>& suspects);
  void judge_new(Seen& after, const Circumstances& about, const std::vector<Suspect>& suspects);
  void place_anew(Sight& after);
  void note_change(const Seen& before, const Seen* after);

  void judge_answers(const Call& call, const Sight& begin, const Sight& before, const Sight& after);
  void judge_refusals(const Call& call, const Sight& begin, const Sight& before);
  void judge_enqueued(const Call& call, const Sight& after);
  void judge_leases(const Call& call, const Sight& after, bool replay);
  void judge_replay(const Call& call, const Sight& after);
  void note_completions(const Call& call);
  void learn_applied(const Call& call, const Sight& before, const Sight& after, WallTime now);

  Tally& tally_;
  const std::vector<std::string> names_;
  ClaimRules claim_rules_;
  SightPtr sight_ = std::make_shared<const Sight>();
  std::vector<std::pair<Call, SightPtr>> put_off_;
  std::map<std::string, JobKey> born_;           // By nonce.
  std::map<std::string, std::string> ids_born_;  // By nonce.
  std::map<std::uint64_t, Applied> applied_;     // By number of call.
  std::map<std::uint64_t, Call> answered_;       // Acknowledged calls with an operation id.
  std::map<std::pair<std::string, std::string>, Token> tokens_;  // By queue and id: the last.
  std::set<std::pair<std::string, Token>> completed_;
  std::vector<Placing> placings_;
  std::uint64_t next_place_ = 1;
  std::uint64_t enqueued_ = 0;
  std::optional<std::string> violation_;
};

}  // namespace sluice::queue::sim
