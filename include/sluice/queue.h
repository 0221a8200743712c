// SPDX-License-Identifier: MIT
// The durable job queue: the verbs that move a job from lane to lane.
//
//   auto store = sluice::kv::open_lmdb({.dir = "data"});
//   auto queues = sluice::queue::Queues::open(**store);
//   (*queues)->enqueue({.queue = "mail", .payload = "hello"});
//   auto leases = (*queues)->claim({.queues = {"mail"}, .worker = "me", .wait = 30s});
//   for (const auto& lease : *leases) (*queues)->ack({.queue = lease.queue, .token = lease.token});
//
// Every step of a job's life is one atomic move from lane to lane, with everything that it causes
// (counts, limits, the caller's own data) in the same transaction. docs/design/queue.md explains
// the machine, docs/design/invariants.md what always holds, docs/format/queue.md what is stored.
#pragma once

#include <sluice/clock.h>
#include <sluice/flow.h>
#include <sluice/job.h>
#include <sluice/kv.h>
#include <sluice/random.h>
#include <sluice/result.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::queue {

// -------------------------------------------------------------------------------------- requests

/// One of the jobs of a queue.
struct JobRef {
  std::string queue = {};
  std::string id = {};
};

/// What every changing verb takes besides its request.
struct CallOptions {
  /// Names this call. The outcome is stored with it in the same transaction: the same call with the
  /// same id within kOperationWindow changes nothing more and answers the same. This is what
  /// settles `commit_unknown`: repeat the call with its id. An id that was used for another call of
  /// the same queue is `invalid_argument`. A batch of several queues belongs to the first one.
  std::string operation = {};
};

struct BatchOptions {
  std::string operation = {};  ///< As in CallOptions.
  /// Any refused item refuses them all. Only for batches that fit one transaction.
  bool all_or_none = false;
};

struct ClaimRequest {
  /// One or more. Over several queues the job that is first by priority, then by place, is taken. A
  /// queue that does not exist is empty.
  std::vector<std::string> queues = {};
  std::size_t jobs_max = 1;
  std::optional<Duration> lease = {};  ///< Default: the queue's.
  std::string worker = {};             ///< Stored with the lease; may be empty.
  std::vector<std::string> skip_groups = {};
  Duration wait = {};         ///< How long to wait for the first job. Only with Queues::claim.
  std::stop_token stop = {};  ///< Ends the wait early; the claim then returns nothing.
  std::string operation = {};
};

struct Claimed {
  std::vector<Lease> leases = {};
  /// Something was moved to the ready lane on the way: claim again at once.
  bool moved = false;
  /// When there may be something to claim without anybody enqueuing, if that is known.
  std::optional<WallTime> next = {};
};

struct ExtendRequest {
  std::string queue = {};
  Token token = {};
  std::optional<Duration> lease = {};        ///< From now on. Default: the queue's.
  std::optional<std::string> progress = {};  ///< Shown with the job; cut to kTextBytesMax.
};

struct AckRequest {
  std::string queue = {};
  Token token = {};
  std::string result = {};  ///< Kept with the done job.
  /// Enqueued in the same transaction, all or none; at most kBatchJobsMax.
  std::vector<NewJob> children = {};
};

struct FailRequest {
  std::string queue = {};
  Token token = {};
  std::string error = {};              ///< Cut to kTextBytesMax.
  std::optional<Duration> delay = {};  ///< Instead of the retry policy's.
  bool dead = false;                   ///< No further attempt, however many are left.
};

struct ReleaseRequest {
  std::string queue = {};
  Token token = {};
  Duration delay = {};  ///< 0: back to the place it was claimed from.
};

struct RequeueRequest {
  std::string queue = {};
  std::string id = {};
  bool keep_attempts = false;
};

struct EditRequest {
  std::string queue = {};
  std::string id = {};
  std::optional<std::int32_t> priority = {};  ///< Takes the job to the end of that priority.
  std::optional<WallTime> due = {};           ///< In the past: at once.
  std::optional<std::string> payload = {};    ///< Keeps its place.
};

struct AddAfterRequest {
  std::string queue = {};
  std::string id = {};
  std::vector<After> after = {};  ///< At most kAfterMax.
};

struct ListRequest {
  std::string queue = {};
  std::optional<Lane> lane = {};  ///< Default: all, in the order they were enqueued.
  std::string group = {};         ///< Only of this group; empty: of any.
  std::string after = {};         ///< Page::next of the page before.
  std::size_t limit = 100;        ///< To kPageMax.
  bool payload = false;
};

struct Page {
  std::vector<Job> jobs = {};
  /// Pass it as `after` for the next page; empty at the end. A page may hold fewer jobs than asked
  /// for, even none, and still have a next one: a listing looks at 10,000 entries at most.
  std::string next = {};
};

struct GetOptions {
  bool payload = false;
  bool history = false;
  bool after = false;
};

/// Why a job is not running, as a list of plain sentences, the strongest reason first.
struct Explanation {
  Job job = {};
  std::vector<std::string> reasons = {};
};

/// What one sweep did, and when there is more to do.
struct Swept {
  std::uint64_t lapsed = 0;           ///< Leases that ran out.
  std::uint64_t due = 0;              ///< Scheduled jobs made ready.
  std::uint64_t expired = 0;          ///< Jobs past their time to live.
  std::uint64_t removed = 0;          ///< Finished jobs past their retention.
  std::uint64_t unblocked = 0;        ///< Groups looked at again after a limit was raised.
  std::uint64_t fired = 0;            ///< Planned times of schedules.
  std::uint64_t released = 0;         ///< Dependencies of jobs that were settled.
  std::uint64_t batches = 0;          ///< Steps of batches: members cancelled, ends.
  std::optional<WallTime> next = {};  ///< Store time of the next thing to do, if anything.

  std::uint64_t moved() const {
    return lapsed + due + expired + removed + unblocked + fired + released + batches;
  }
};

// ----------------------------------------------------------------------------------------- verbs

class Queues;
class Steps;
struct QueuesAccess;

/// The verbs inside one transaction of the caller's, so that its own data and its jobs commit
/// together:
///
///   store.run([&](kv::Transaction& txn) -> Status {
///     Scope jobs(*queues, txn);
///     txn.put("order/17", order);
///     return status_of(jobs.enqueue({.queue = "mail", .payload = order}));
///   });
///
/// Lives inside the body, one per transaction, on its thread; its destructor writes what can only
/// be written last. A verb that is refused (any code but those of the store itself) has changed
/// nothing, and the transaction may go on. What is enqueued, requeued or readied otherwise gets its
/// place at the commit: other verbs of the same transaction do not see a new job, and refuse a job
/// that was given a new place (`invalid_argument`).
class Scope {
 public:
  Scope(Queues& queues, kv::Transaction& txn);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// The new job's id. `already_exists` if the queue has a job of that id, in any lane, or if its
  /// unique key is taken; `limit_exceeded` if the backlog is at its cap; `not_found` if its batch
  /// or a job to wait for does not exist; `conflict` if the batch takes no more, or if it would be
  /// cancelled at once because a job to wait for has failed.
  Result<std::string> enqueue(const NewJob& job, const CallOptions& options = {});
  std::vector<Result<std::string>> enqueue(std::span<const NewJob> jobs,
                                           const CallOptions& options = {});

  /// Never waits. Takes what the queues' limits allow of the jobs that come first.
  Result<Claimed> claim(const ClaimRequest& request);

  /// The four verbs of a worker. With a token whose lease is over they change nothing and answer
  /// `lease_lost`. A lease is over at its deadline, by store time, and when the job has moved on.
  Result<WallTime> extend(const ExtendRequest& request, const CallOptions& options = {});
  std::vector<Result<WallTime>> extend(std::span<const ExtendRequest> requests,
                                       const CallOptions& options = {});
  Status ack(const AckRequest& request, const CallOptions& options = {});
  std::vector<Status> ack(std::span<const AckRequest> requests, const CallOptions& options = {});
  Status fail(const FailRequest& request, const CallOptions& options = {});
  std::vector<Status> fail(std::span<const FailRequest> requests, const CallOptions& options = {});
  Status release(const ReleaseRequest& request, const CallOptions& options = {});
  std::vector<Status> release(std::span<const ReleaseRequest> requests,
                              const CallOptions& options = {});

  /// The verbs of an operator. `not_found` if there is no such job, `conflict` if its lane does not
  /// allow the verb; the table is in docs/design/queue.md.
  Status cancel(const JobRef& job, const CallOptions& options = {});
  std::vector<Status> cancel(std::span<const JobRef> jobs, const CallOptions& options = {});
  Status requeue(const RequeueRequest& request, const CallOptions& options = {});
  std::vector<Status> requeue(std::span<const RequeueRequest> requests,
                              const CallOptions& options = {});
  Status edit(const EditRequest& request, const CallOptions& options = {});
  std::vector<Status> edit(std::span<const EditRequest> requests, const CallOptions& options = {});
  Status hold(const JobRef& job, const CallOptions& options = {});
  std::vector<Status> hold(std::span<const JobRef> jobs, const CallOptions& options = {});
  Status unhold(const JobRef& job, const CallOptions& options = {});
  std::vector<Status> unhold(std::span<const JobRef> jobs, const CallOptions& options = {});
  Status break_lease(const JobRef& job, const CallOptions& options = {});
  std::vector<Status> break_lease(std::span<const JobRef> jobs, const CallOptions& options = {});
  /// Takes a finished job (done, dead, cancelled) away for good.
  Status remove(const JobRef& job, const CallOptions& options = {});
  std::vector<Status> remove(std::span<const JobRef> jobs, const CallOptions& options = {});
  /// Lets a job that is waiting or held wait for more. They must have been enqueued before it
  /// (`invalid_argument`), so nothing ever waits for itself.
  Status add_after(const AddAfterRequest& request, const CallOptions& options = {});

  /// The new batch's id. `already_exists` if the queue has one of that id.
  Result<std::string> open_batch(const NewBatch& batch, const CallOptions& options = {});
  /// From now on only its own jobs' acks add to it. It ends when all its jobs are finished.
  Status seal_batch(const BatchRef& batch, const CallOptions& options = {});
  /// Seals it and has its unfinished jobs cancelled, by and by (claim and sweep), also those that
  /// workers have. Takes the same time however many there are. `conflict` if it has ended.
  Status cancel_batch(const BatchRef& batch, const CallOptions& options = {});

 private:
  friend struct QueuesAccess;
  Status finish();

  std::unique_ptr<Steps> steps_;
};

struct QueuesOptions {
  Random* random = nullptr;  ///< Null: the kernel's. Used under a lock; outlives the object.
};

/// All queues of one store. Each call is a transaction of its own, durable when it returns.
///
/// Lifecycle: made by open() on a store that outlives it. Concurrency: every member may be called
/// from any thread at any time; claims of one process on the same queues are served together.
/// Several processes may open the same store. Owns no thread: somebody calls sweep().
class Queues {
 public:
  /// Prepares a new store, or checks that this program can read its queues: `invalid_argument`
  /// names both versions if not.
  static Result<std::unique_ptr<Queues>> open(kv::Store& store, QueuesOptions options = {});
  ~Queues();
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  kv::Store& store() const { return store_; }

  // Each is Scope's verb of the same name in its own transaction.
  Result<std::string> enqueue(const NewJob& job, const CallOptions& options = {});
  /// Waits up to `wait` for a first job, then returns what there is, perhaps nothing.
  Result<std::vector<Lease>> claim(const ClaimRequest& request);
  Result<WallTime> extend(const ExtendRequest& request, const CallOptions& options = {});
  Status ack(const AckRequest& request, const CallOptions& options = {});
  Status fail(const FailRequest& request, const CallOptions& options = {});
  Status release(const ReleaseRequest& request, const CallOptions& options = {});
  Status cancel(const JobRef& job, const CallOptions& options = {});
  Status requeue(const RequeueRequest& request, const CallOptions& options = {});
  Status edit(const EditRequest& request, const CallOptions& options = {});
  Status hold(const JobRef& job, const CallOptions& options = {});
  Status unhold(const JobRef& job, const CallOptions& options = {});
  Status break_lease(const JobRef& job, const CallOptions& options = {});
  Status remove(const JobRef& job, const CallOptions& options = {});
  Status add_after(const AddAfterRequest& request, const CallOptions& options = {});
  Result<std::string> open_batch(const NewBatch& batch, const CallOptions& options = {});
  Status seal_batch(const BatchRef& batch, const CallOptions& options = {});
  Status cancel_batch(const BatchRef& batch, const CallOptions& options = {});

  /// Many items: one result per item, in order. Up to kBatchJobsMax items and
  /// kBatchBytesMax bytes are one transaction. A larger call is several, each of which happens or
  /// does not; if the store fails, the items that were not reached get its failure.
  std::vector<Result<std::string>> enqueue(std::span<const NewJob> jobs,
                                           const BatchOptions& options = {});
  std::vector<Status> ack(std::span<const AckRequest> requests, const BatchOptions& options = {});
  std::vector<Status> fail(std::span<const FailRequest> requests, const BatchOptions& options = {});
  std::vector<Status> release(std::span<const ReleaseRequest> requests,
                              const BatchOptions& options = {});
  std::vector<Status> cancel(std::span<const JobRef> jobs, const BatchOptions& options = {});
  std::vector<Status> requeue(std::span<const RequeueRequest> requests,
                              const BatchOptions& options = {});
  std::vector<Result<WallTime>> extend(std::span<const ExtendRequest> requests,
                                       const BatchOptions& options = {});
  std::vector<Status> edit(std::span<const EditRequest> requests, const BatchOptions& options = {});
  std::vector<Status> hold(std::span<const JobRef> jobs, const BatchOptions& options = {});
  std::vector<Status> unhold(std::span<const JobRef> jobs, const BatchOptions& options = {});
  std::vector<Status> break_lease(std::span<const JobRef> jobs, const BatchOptions& options = {});
  std::vector<Status> remove(std::span<const JobRef> jobs, const BatchOptions& options = {});

  // Queues and groups.

  /// Sets all settings of a queue, making it if need be. Lowering a limit takes nothing away from
  /// workers that are over it; raising one lets blocked groups in by and by (claim and sweep).
  Status configure(std::string_view queue, const QueueConfig& config);
  /// A group's own limit; without a value it has the queue's again.
  Status limit_group(std::string_view queue, std::string_view group,
                     std::optional<std::uint32_t> limit);
  /// A paused queue hands out no jobs. Everything else goes on.
  Status pause(std::string_view queue);
  Status resume(std::string_view queue);
  /// `conflict` unless the queue has no jobs at all, no schedules, and nobody waits for what it
  /// had.
  Status remove_queue(std::string_view queue);
  /// Removes finished jobs of one lane, oldest first, until `limit` are gone. The number removed.
  Result<std::uint64_t> purge(std::string_view queue, Lane lane, std::uint64_t limit = UINT64_MAX);

  // Schedules. They fire in claims of their queue and in sweeps.

  /// Makes the schedule, or gives the one of that name another expression and job; it then goes on
  /// from now.
  Status put_schedule(const NewSchedule& schedule);
  Status pause_schedule(std::string_view queue, std::string_view name);
  /// Goes on with the next planned time from now: what it missed while paused is not made up for.
  Status resume_schedule(std::string_view queue, std::string_view name);
  /// Enqueues its job now, planned for now, beside what is planned. The job's id.
  Result<std::string> run_schedule(std::string_view queue, std::string_view name);
  Status remove_schedule(std::string_view queue, std::string_view name);

  // Looking. All of it on snapshots: nobody waits for anybody.

  Result<Queue> get_queue(std::string_view queue);
  /// By name, those after `after`.
  Result<std::vector<Queue>> list_queues(std::string_view after = {}, std::size_t limit = kPageMax);
  Result<std::vector<Group>> list_groups(std::string_view queue, std::string_view after = {},
                                         std::size_t limit = kPageMax);
  Result<Job> get(const JobRef& job, const GetOptions& options = {});
  Result<Page> list(const ListRequest& request);
  /// The jobs that claims would get next, in order, as far as limits allow them to be claimed one
  /// by one with nothing finishing. Paused queues too.
  Result<std::vector<Job>> peek(std::string_view queue, std::size_t limit = 1);
  Result<Counts> count(std::string_view queue);
  Result<Counts> count(std::string_view queue, std::string_view group);
  /// Groups that have ready jobs and no free slot, counted to at most `limit`.
  Result<std::uint64_t> count_blocked_groups(std::string_view queue,
                                             std::uint64_t limit = kPageMax);
  Result<Explanation> explain(const JobRef& job);
  Result<Batch> get_batch(const BatchRef& batch);
  /// By id, those after `after`.
  Result<std::vector<Batch>> list_batches(std::string_view queue, std::string_view after = {},
                                          std::size_t limit = kPageMax);
  Result<Schedule> get_schedule(std::string_view queue, std::string_view name);
  Result<std::vector<Schedule>> list_schedules(std::string_view queue, std::string_view after = {},
                                               std::size_t limit = kPageMax);
  /// What happened to the queue's jobs, in order, from a cursor on.
  Result<EventPage> events(const EventsRequest& request);
  /// The cursor after everything that has happened, to follow only what is to come.
  Result<std::string> events_end(std::string_view queue);

  // Workers.

  /// Adds the worker, or says that it is still there; forgotten after `ttl` without a word.
  Status register_worker(const Worker& worker, Duration ttl);
  Status forget_worker(std::string_view name);
  Result<std::vector<Worker>> list_workers();

  // Time.

  /// Does what is due, in all queues: ends expired leases, readies due jobs, expires, removes what
  /// is past its retention, fires schedules, carries on with dependants and batches. In bounded
  /// transactions, at most `moves_max` moves. Nothing goes wrong if it is never called as long as
  /// somebody claims, except that finished jobs stay.
  Result<Swept> sweep(std::uint64_t moves_max = 10'000);

 private:
  friend class Scope;
  friend struct QueuesAccess;
  struct Inside;
  Queues(kv::Store& store, QueuesOptions options);

  kv::Store& store_;
  std::unique_ptr<Inside> inside_;
};

// ---------------------------------------------------------------------------------------- verify

struct Breach {
  std::string invariant = {};  ///< "I3", as numbered in docs/design/invariants.md.
  std::string key = {};        ///< The stored key, in hex.
  std::string what = {};       ///< One sentence for a person.
};

struct VerifyOptions {
  std::size_t breaches_max = 20;  ///< All are counted, so many are described.
};

struct VerifyReport {
  std::uint64_t queues = 0;
  std::uint64_t groups = 0;
  std::uint64_t jobs = 0;
  std::uint64_t batches = 0;
  std::uint64_t schedules = 0;
  std::uint64_t keys = 0;
  std::uint64_t breach_count = 0;
  std::vector<Breach> breaches = {};

  bool clean() const { return breach_count == 0; }
  std::string to_json() const;
  std::string to_text() const;  ///< A few lines for a person.
  int exit_code() const { return clean() ? 0 : 1; }
};

/// Reads every key of the queue layer in one snapshot and proves the numbered invariants. Changes
/// nothing; memory grows with the number of groups and not with that of jobs. Fails only if the
/// store cannot be read. A damaged store file can crash the process that reads it: programs call
/// this in a child.
Result<VerifyReport> verify(kv::Store& store, VerifyOptions options = {});

}  // namespace sluice::queue
