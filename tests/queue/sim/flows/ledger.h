// SPDX-License-Identifier: MIT
// What has become of every job, batch and schedule, written down commit by commit from outside: the
// events of all queues in the order of their commits, compared with what the queues say themselves.
#pragma once

#include <sluice/queue.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/queue/sim/flows/flow_tally.h"

namespace sluice::queue::sim {

/// One job from its enqueue on.
struct Life {
  struct Wait {
    Life* parent = nullptr;
    AfterPolicy policy = AfterPolicy::success;
    bool settled = false;
  };

  std::string queue = {};
  std::string id = {};
  kv::Mark number = {};
  const NewJob* asked = nullptr;
  Lane lane = Lane::ready;
  WallTime born = {};
  std::vector<std::pair<std::uint64_t, Lane>> path = {};  ///< Commit by commit.
  bool firm = false;             ///< In its key's lanes ever since it was enqueued.
  bool lost_key = false;         ///< Replaced.
  bool was_done = false;         ///< At some time.
  bool was_failed = false;       ///< Dead or cancelled at some time.
  std::uint64_t gone = 0;        ///< The commit by which it was seen to be removed; 0: not yet.
  bool left_batch = false;       ///< Requeued after its batch had ended.
  std::vector<Wait> waits = {};  ///< What it waits for, while it does.
  std::vector<Life*> dependants = {};

  bool finished() const { return lane >= Lane::done; }
  bool wants_key_in(Lane where) const;
  WallTime key_until() const { return born + asked->unique->window; }
};

struct BatchLife {
  std::string queue = {};
  std::string id = {};
  NewBatch asked = {};
  std::vector<Life*> members = {};
  bool seal_asked = false;
  bool cancel_asked = false;
  std::optional<Batch> last = {};  ///< As it was at the last look.
  unsigned successes = 0;          ///< Callbacks that were enqueued.
  unsigned ends = 0;
};

struct ScheduleLife {
  std::string queue = {};
  std::string name = {};
  std::optional<Schedule> last = {};  ///< As it was at the last look.
  std::optional<WallTime> planned = {};
  std::uint64_t fired = 0;
};

/// Whether the queues still have it. Another job may have its id by now.
bool is_there(Queues& queues, const Life& life);
/// The payload of a batch's callback.
std::string callback_payload(const std::string& queue, const std::string& batch, bool success);
/// How often the expressions that are used here fire; each at whole multiples of it.
Duration period_of(const std::string& cron);

/// Checks, commit by commit:
/// - keys: no job is enqueued with the key of one that has not left its declared lanes, or whose
///   window is not over;
/// - dependencies: no job goes on before all that it waits for are settled by its policies, none is
///   cancelled or orphaned without a cause;
/// - batches: counts, ends and callbacks follow from the members;
/// - schedules: planned times are of the calendar, increase, and none is made up for twice.
class Ledger {
 public:
  Ledger(FlowTally& tally, std::vector<std::string> queues)
      : tally_(tally), names_(std::move(queues)), streams_(names_.size()) {}

  // What was asked for, before the call is made.

  void expect(const NewJob& job);
  BatchLife& expect_batch(const NewBatch& batch);
  void expect_schedule(const std::string& queue, const std::string& name);
  void expect_cancel(const std::string& queue, const std::string& id);

  /// The job may wait for more than is known: that is no event.
  void expect_more_after(const std::string& queue, const std::string& id);

  /// Reads what has been committed since the last look, and judges it. False if the store is down.
  bool look(Queues& observer, WallTime now);
  /// Compares with all that the queues say of their jobs.
  void compare(Queues& observer);

  /// Commits that moved a job, so far.
  std::uint64_t tick() const { return tick_; }
  const std::vector<Event>& stream(std::size_t queue) const { return streams_[queue].events; }
  std::optional<std::size_t> position(std::size_t queue, const std::string& cursor) const;
  const Life* find(const std::string& queue, const std::string& id) const;
  /// The job that was enqueued with this payload.
  const Life* find_payload(const std::string& payload) const;
  const std::deque<Life>& lives() const { return lives_; }
  std::deque<BatchLife>& batches() { return batches_; }
  const std::map<std::pair<std::string, std::string>, ScheduleLife>& schedules() const {
    return schedules_;
  }
  std::size_t unfinished() const { return unfinished_; }
  /// Whether somebody could have held the key at some time since `tick` and `time`.
  const Life* key_holder_since(const std::string& queue, const std::string& key, std::uint64_t tick,
                               WallTime time) const;
  /// Whether the batch took no more jobs.
  static bool closed(const BatchLife& batch);
  BatchLife* find_batch(const std::string& queue, const std::string& id);

  const std::optional<std::string>& violation() const { return violation_; }
  void fail(std::string what) {
    if (!violation_) violation_ = std::move(what);
  }

 private:
  struct Stream {
    std::string cursor;
    std::vector<Event> events;
    std::unordered_map<std::string, std::size_t> positions;
  };
  struct Fresh {
    std::size_t queue = 0;
    Event event = {};
  };

  bool read_stream(Queues& observer, std::size_t queue, std::vector<Fresh>& fresh);
  void take_commit(Queues& observer, const std::vector<const Fresh*>& commit);
  Life* take_move(const Fresh& fresh);
  Life* take_birth(Queues& observer, const Fresh& fresh);
  void take_finish(Life& life);

  // ledger_rules.cc
  void judge_key(Queues& observer, Life& life);
  void judge_cancelled(const Life& life, Lane from, const std::vector<Life*>& born);
  void judge_going_on(const Life& life);
  void judge_ending(Queues& observer, const Life& life, Lane from, const std::vector<Life*>& born);
  void tie(Life& life);
  void look_at_waits(Queues& observer);
  void compare_waits(Queues& observer);
  void judge_fired(Life& life, const Job& job);
  void judge_callback(const Life& life);

  // ledger_batches.cc
  void look_at_batches(Queues& observer, WallTime now);
  void judge_batch(BatchLife& life, const Batch& batch);
  void judge_end(BatchLife& life, const Batch& batch);
  void look_at_schedules(Queues& observer);
  void judge_schedule(ScheduleLife& life, const Schedule& now_is);

  FlowTally& tally_;
  const std::vector<std::string> names_;
  std::vector<Stream> streams_;
  std::map<std::string, NewJob> asked_;  // By payload.
  std::deque<NewJob> scheduled_;         // By schedules.
  std::deque<Life> lives_;
  std::map<std::pair<std::string, std::string>, Life*> by_id_;
  std::map<std::string, Life*> by_payload_;
  std::map<std::pair<std::string, std::string>, std::vector<Life*>> by_key_;
  std::deque<BatchLife> batches_;
  std::map<std::pair<std::string, std::string>, ScheduleLife> schedules_;
  std::set<std::pair<std::string, std::string>> cancels_;
  std::set<std::pair<std::string, std::string>> more_after_;
  std::uint64_t tick_ = 0;
  std::size_t unfinished_ = 0;
  std::optional<std::string> violation_;
};

}  // namespace sluice::queue::sim
