// SPDX-License-Identifier: MIT
// What the queues do, said as plainly as possible: docs/design/queue.md and flows.md for one shard,
// on maps, with no store, no indexes and no care for cost. The real queues must agree with it after
// every call.
//
// It leaves out what other tests pin: the checks of requests, operation ids, history, texts, and
// whatever is so much that one transaction does not finish it.
#pragma once

#include <sluice/queue.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/token_bucket.h>

namespace sluice::queue::model {

using Ms = std::int64_t;
inline constexpr Ms kNever = INT64_MAX;

/// Jobs are numbered as they are enqueued; the real marks are not known to the model.
struct Token {
  std::uint64_t job = 0;
  std::uint64_t claim = 0;
  friend auto operator<=>(const Token&, const Token&) = default;
};

/// A job that another one waits for.
struct Tie {
  std::string queue = {};
  std::string id = {};
  std::uint64_t number = 0;
  AfterPolicy policy = AfterPolicy::success;
};

struct Job {
  std::string id = {};
  std::string group = {};
  std::string payload = {};
  std::uint64_t number = 0;
  std::uint64_t place = 0;
  Lane lane = Lane::ready;
  std::int32_t priority = 0;
  std::uint32_t attempts = 0;
  std::uint32_t lapses = 0;
  std::uint64_t claims = 0;
  Ms enqueued = 0;
  Ms due = 0;
  Ms expires = kNever;
  Ms deadline = 0;
  Ms since = 0;
  DeathReason reason = DeathReason::none;
  std::optional<RetryPolicy> retry = {};
  std::optional<Unique> unique = {};
  bool has_key = false;
  std::vector<Tie> after = {};
  bool waited_for = false;  ///< Others have waited for it, or do.
  Ms kept_longer = 0;       ///< Than the queue keeps others, because of that.
  std::string batch = {};
  std::string schedule = {};
  Ms planned = 0;
};

/// `offered`: it has a ready job and a free slot, as of the last call that touched it. `round` is
/// for fair queues.
struct Group {
  std::optional<std::uint32_t> limit = {};
  bool offered = false;
  std::uint64_t round = 0;
};

/// Who has a unique key. Without a job it is only taken until its window is over.
struct Key {
  std::string id = {};
  std::uint64_t job = 0;
  Ms until = 0;
};

struct Batch {
  Ms created = 0;
  bool sealed = false;
  bool cancelled = false;
  Ms ended = 0;
  std::uint64_t total = 0;
  std::uint64_t done = 0;
  std::uint64_t dead = 0;
  std::uint64_t dropped = 0;
  std::optional<NewJob> on_success = {};
  std::optional<NewJob> on_end = {};
  std::string success_id = {};
  std::string end_id = {};
  bool failed_to_call = false;  ///< It has an error.
  bool counted = false;         ///< By the present call.
  bool look = false;            ///< The present call may have ended it.

  std::uint64_t pending() const { return total - done - dead - dropped; }
};

struct Schedule {
  std::string cron = {};
  NewJob job = {};
  bool paused = false;
  Ms next = 0;
  Ms planned = 0;
  std::string last_id = {};
  std::uint64_t fired = 0;
  std::uint64_t skipped = 0;
  bool last_skipped = false;  ///< It has an error.
};

/// How a job ended, for those that wait for it.
enum class Ending { done, failed, lost };

/// What is to be done, in the order in which it is: the kinds are those of the agenda's table.
struct Note {
  enum Kind { fire = 1, release, drop, check, free, forget };
  Ms at = 0;
  Kind kind = fire;
  std::uint64_t number = 0;  ///< Of the finished job.
  std::string subject = {};
  friend auto operator<=>(const Note&, const Note&) = default;
};

/// An event: where a job came from, if it was not new, and where it went.
struct Move {
  std::string id = {};
  std::optional<Lane> from = {};
  Lane to = Lane::ready;
  std::uint32_t attempt = 0;
};

struct Queue {
  std::string name = {};
  QueueConfig config = {};
  bool paused = false;
  std::map<std::string, Job> jobs = {};  ///< By id.
  std::map<std::string, Group> groups = {};
  std::map<std::string, Key> keys = {};
  std::map<std::string, Batch> batches = {};
  std::map<std::string, Schedule> schedules = {};
  std::map<Note, Ending> agenda = {};  ///< The ending is for a release.
  std::vector<Move> events = {};       ///< Since the test looked last.
  BucketState bucket = {};
  bool reviewing = false;                 ///< The limit of all groups was raised a moment ago.
  std::uint64_t round = 0;                ///< That claims have reached.
  std::set<std::string> touched = {};     ///< Groups that the present call has moved a job of.
  std::set<std::string> reconsider = {};  ///< Those of them that may have reached their limit.
};

struct Claim {
  std::string queue = {};
  std::string id = {};
  std::uint32_t attempt = 0;
  Token token = {};
  Ms deadline = 0;
};

/// What became of an enqueue: the id is the new job's, or that of the one that is kept.
struct Added {
  Code code = Code::ok;
  std::string id = {};
};

struct Ack {
  std::string queue = {};
  Token token = {};
  std::vector<NewJob> children = {};
};

class Model {
 public:
  /// Store time, moved by the caller.
  Ms now = 0;
  /// Ids that the real queues have drawn: by schedule_slot() or callback_slot().
  std::map<std::string, std::string> drawn = {};

  // The verbs. A code other than ok means that nothing has changed.
  // In a batch each item has its own; it is one call all the same.
  Added enqueue(const NewJob& job);  ///< The id must not be empty.
  std::vector<Added> enqueue(std::span<const NewJob> jobs);
  /// Takes what comes first, then ends leases, readies due jobs and does what is on the agenda;
  /// again if there was nothing to take and something to move.
  std::vector<Claim> claim(const ClaimRequest& request);
  Code extend(const std::string& queue, Token token, std::optional<Duration> lease);
  Code ack(const Ack& request);
  std::vector<Code> ack(std::span<const Ack> requests);
  Code fail(const std::string& queue, Token token, const FailRequest& how);
  Code release(const std::string& queue, Token token, Duration delay);
  Code cancel(const JobRef& ref);
  Code requeue(const RequeueRequest& request);
  Code edit(const EditRequest& request);
  Code hold(const JobRef& ref);
  Code unhold(const JobRef& ref);
  Code break_lease(const JobRef& ref);
  Code remove(const JobRef& ref);
  Code add_after(const AddAfterRequest& request);

  Code open_batch(const NewBatch& request);  ///< The id must not be empty.
  Code seal_batch(const BatchRef& ref);
  Code cancel_batch(const BatchRef& ref);

  Code put_schedule(const NewSchedule& request);
  Code pause_schedule(const std::string& queue, const std::string& name, bool paused);
  Added run_schedule(const std::string& queue, const std::string& name);
  Code remove_schedule(const std::string& queue, const std::string& name);

  Code configure(const std::string& queue, const QueueConfig& config);
  Code limit_group(const std::string& queue, const std::string& group,
                   std::optional<std::uint32_t> limit);
  Code pause(const std::string& queue, bool paused);
  Code remove_queue(const std::string& queue);
  Result<std::uint64_t> purge(const std::string& queue, Lane lane, std::uint64_t limit);

  /// Everything that time has made due, queue by queue in the order of names: leases end, jobs
  /// expire, come due, are forgotten, then the agenda, in this order; again until nothing moves.
  Swept sweep();

  // Looking.
  const Queue* find(const std::string& queue) const;
  const Job* find(const JobRef& ref) const;
  const Job* find_lease(const std::string& queue, Token token) const;  ///< Null if it is over.
  Counts count(const std::string& queue, std::optional<std::string_view> group = {}) const;
  std::vector<std::string> peek(const std::string& queue, std::size_t limit) const;
  /// Ids in the order of their enqueues.
  std::vector<std::string> list(const std::string& queue, std::optional<Lane> lane = {},
                                std::string_view group = {}) const;
  std::vector<Move> take_events(const std::string& queue);

 private:
  struct Found {
    Queue* queue = nullptr;
    Job* job = nullptr;
    Code code = Code::ok;
  };
  /// What a claim meets, in order.
  struct Offer {
    std::int64_t order = 0;
    std::uint64_t place = 0;
    std::string hash = {};
    Job* job = nullptr;
  };
  /// A job that has finished in the present call.
  struct Release {
    std::string queue = {};
    std::string id = {};
    std::uint64_t number = 0;
    Ending ending = Ending::done;
  };
  /// On whose behalf a job is enqueued.
  struct Origin {
    std::optional<JobRef> acked = {};  ///< By the ack of this job,
    std::string batch = {};            ///< which is of this batch.
    std::string schedule = {};
    Ms planned = 0;
    bool callback = false;  ///< No cap holds it back.
  };
  /// What the unique key of a new job means to it.
  struct KeyCheck {
    Code code = Code::ok;
    std::string kept_id = {};          ///< This job is there already, and enough.
    std::uint64_t replaces = 0;        ///< This job has to give up its key,
    bool replaces_unfinished = false;  ///< and to go.
  };
  /// What time has done in one transaction.
  struct Work {
    Swept swept = {};
    bool any = false;
  };
  using TimeOf = Ms (*)(const Queue&, const Job&);

  Found find_job(const JobRef& ref, std::span<const Lane> allowed);
  Found get_lease(const std::string& queue, Token token);
  Added add(const NewJob& job, const Origin& origin);
  Job& make(Queue& queue, const NewJob& request, const Origin& origin);
  Code finish_lease(const Ack& request);
  Claim lease_out(const std::string& queue, Job& job, const ClaimRequest& request);
  std::vector<Claim> take_jobs(const ClaimRequest& request);
  std::uint64_t put_away_ = 0;  // Jobs that the claim at hand has buried or cancelled.

  // Moves. What they cause in other jobs and in batches is done by settled().
  void move(Queue& queue, Job& job, Lane lane);
  void make_ready(Queue& queue, Job& job);
  void schedule(Queue& queue, Job& job, Ms due);
  /// To where a job belongs that nothing holds back any more.
  void go_on(Queue& queue, Job& job);
  void finish(Queue& queue, Job& job, Lane lane, DeathReason reason = DeathReason::none);
  void erase(Queue& queue, const Job& job);
  void forget(Queue& queue, Job& job);
  void lapse(Queue& queue, Job& job);
  Code settled(Code code);

  // Time.
  std::vector<std::string> over(const Queue& queue, TimeOf time_of) const;
  std::uint64_t move_on(Queue& queue);
  std::uint64_t each_over(Queue& queue, const std::vector<std::string>& ids, TimeOf time_of,
                          void (Model::*act)(Queue&, Job&));
  void bury(Queue& queue, Job& job);
  Work sweep_once(Queue& queue);
  std::uint64_t review(Queue& queue);
  Work work_agenda(Queue& queue);
  bool work_on(Queue& queue, const Note& note, Ending ending, Swept& swept);

  // Unique keys.
  Key* find_key(Queue& queue, const std::string& name);
  void move_key(Queue& queue, Job& job, std::optional<Lane> to);
  void give_key_back(Queue& queue, Job& job);
  KeyCheck check_key(const NewJob& request, const Origin& origin);
  void take_key_away(Queue& queue, const std::string& name);
  void cancel_replaced();
  bool is_key_of_another(Queue& queue, const Job& job);

  // Dependencies.
  Code read_after(const std::string& queue, std::span<const After> after, const Origin& origin,
                  std::vector<Tie>& ties);
  void tie(Job& job, const std::vector<Tie>& ties);
  void release_dependants(const Release& release);
  bool is_releasing(const Queue& queue, const Job& job) const;

  // Batches and schedules.
  Code check_open(const NewJob& job, const Origin& origin);
  Batch* batch_of(Queue& queue, const Job& job);
  void end_member(Queue& queue, const Job& job, Lane lane);
  void return_member(Queue& queue, Job& job);
  bool drop_members(Queue& queue, const std::string& id, Swept& swept);
  void settle_batch(Queue& queue, const std::string& id);
  std::string call_back(Batch& batch, NewJob job, const std::string& slot);
  void plan(Queue& queue, const std::string& name, Ms after);
  Added run_once(Queue& queue, const std::string& name, Ms planned);
  bool fire(Queue& queue, const std::string& name, Swept& swept);

  // Groups.
  void settle(Queue& queue, const std::string& group);
  bool has_slot(const Queue& queue, const std::string& group) const;
  std::vector<Offer> offers(Queue& queue, const std::vector<std::string>& skip);
  Job* next_job(Queue& queue, const std::vector<std::string>& skip);
  Job* first_ready(Queue& queue, const std::string& group);
  bool may_claim(const Queue& queue) const;

  std::map<std::string, Queue> queues_;
  std::uint64_t counter_ = 0;
  // Of the present call:
  std::deque<Release> releases_;
  std::set<std::uint64_t> newly_waited_for_;
  std::set<std::uint64_t> placed_;  ///< Jobs that it gave a new place.
  std::set<std::uint64_t> replaced_;
  std::vector<JobRef> to_cancel_;
  std::vector<JobRef> born_;
};

/// What stands for a name where things are in the order of a hash: the SHA-256 of it.
std::string hash_of_name(const std::string& name);

/// Where Model::drawn has the id of the job that a schedule, or the end of a batch, enqueued last.
std::string schedule_slot(const std::string& queue, const std::string& name);
std::string callback_slot(const std::string& queue, const std::string& batch, bool on_success);

inline bool contains(const std::vector<Lane>& lanes, Lane lane) {
  return std::ranges::find(lanes, lane) != lanes.end();
}

inline Ms in_ms(Duration duration) {
  return std::chrono::floor<std::chrono::milliseconds>(duration).count();
}

inline Ms in_ms(WallTime time) {
  return in_ms(time.time_since_epoch());
}

}  // namespace sluice::queue::model
