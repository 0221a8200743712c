// SPDX-License-Identifier: MIT
// What the queues do, said as plainly as possible: docs/design/queue.md for one shard, on maps,
// with no store, no indexes and no care for cost. The real queues must agree with it after every
// call.
//
// It leaves out what other tests pin: the checks of requests, operation ids, history, texts.
#pragma once

#include <sluice/queue.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_bucket.h"

namespace sluice::queue::model {

using Ms = std::int64_t;
inline constexpr Ms kNever = INT64_MAX;

/// Jobs are numbered as they are enqueued; the real marks are not known to the model.
struct Token {
  std::uint64_t job = 0;
  std::uint64_t claim = 0;
  friend auto operator<=>(const Token&, const Token&) = default;
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
  Ms due = 0;
  Ms expires = kNever;
  Ms deadline = 0;
  Ms since = 0;
  DeathReason reason = DeathReason::none;
  std::optional<RetryPolicy> retry = {};
};

/// `offered`: it has a ready job and a free slot, as of the last call that touched it. `round` is
/// for fair queues.
struct Group {
  std::optional<std::uint32_t> limit = {};
  bool offered = false;
  std::uint64_t round = 0;
};

struct Queue {
  QueueConfig config = {};
  bool paused = false;
  std::map<std::string, Job> jobs = {};  ///< By id.
  std::map<std::string, Group> groups = {};
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

class Model {
 public:
  /// Store time, moved by the caller.
  Ms now = 0;

  // The verbs. A code other than ok means that nothing has changed.
  // In a batch each item has its own; it is one call all the same.
  Code enqueue(const NewJob& job);  ///< The id must not be empty.
  std::vector<Code> enqueue(std::span<const NewJob> jobs);
  /// Takes what comes first, then ends leases and readies due jobs; again if there was nothing to
  /// take and something to move.
  std::vector<Claim> claim(const ClaimRequest& request);
  Code extend(const std::string& queue, Token token, std::optional<Duration> lease);
  Code ack(const std::string& queue, Token token, const std::vector<NewJob>& children = {});
  std::vector<Code> ack(std::span<const std::pair<std::string, Token>> jobs);
  Code fail(const std::string& queue, Token token, const FailRequest& how);
  Code release(const std::string& queue, Token token, Duration delay);
  Code cancel(const JobRef& ref);
  Code requeue(const RequeueRequest& request);
  Code edit(const EditRequest& request);
  Code hold(const JobRef& ref);
  Code unhold(const JobRef& ref);
  Code break_lease(const JobRef& ref);
  Code remove(const JobRef& ref);

  Code configure(const std::string& queue, const QueueConfig& config);
  Code limit_group(const std::string& queue, const std::string& group,
                   std::optional<std::uint32_t> limit);
  Code pause(const std::string& queue, bool paused);
  Code remove_queue(const std::string& queue);
  Result<std::uint64_t> purge(const std::string& queue, Lane lane, std::uint64_t limit);

  /// Everything that time has made due, queue by queue in the order of names: leases end, jobs
  /// expire, come due, are forgotten, in this order; again until nothing moves.
  Swept sweep();

  // Looking.
  const Queue* find(const std::string& queue) const;
  const Job* find(const JobRef& ref) const;
  Counts count(const std::string& queue, std::optional<std::string_view> group = {}) const;
  std::vector<std::string> peek(const std::string& queue, std::size_t limit) const;
  /// Ids in the order of their enqueues.
  std::vector<std::string> list(const std::string& queue, std::optional<Lane> lane = {},
                                std::string_view group = {}) const;

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
  Found find_job(const JobRef& ref, std::span<const Lane> allowed);
  Found find_lease(const std::string& queue, Token token);
  Code add(const NewJob& job);
  Swept sweep_once(Queue& queue);
  std::vector<Job*> over(Queue& queue, Ms (*time_of)(const Queue&, const Job&));
  std::uint64_t review(Queue& queue);
  std::vector<Claim> take_jobs(const ClaimRequest& request);
  Claim lease_out(const std::string& queue, Job& job, const ClaimRequest& request);
  std::uint64_t move_on(Queue& queue);
  Code finish_lease(const std::string& queue, Token token);

  void make_ready(Queue& queue, Job& job);
  void back_to_place(Queue& queue, Job& job);
  void schedule(Queue& queue, Job& job, Ms due);
  void finish(Queue& queue, Job& job, Lane lane, DeathReason reason = DeathReason::none);
  void erase(Queue& queue, const Job& job);
  void lapse(Queue& queue, Job& job);
  Code settled(Code code);
  void settle(Queue& queue, const std::string& group);
  bool has_slot(const Queue& queue, const std::string& group) const;
  std::vector<Offer> offers(Queue& queue, const std::vector<std::string>& skip);
  Job* next_job(Queue& queue, const std::vector<std::string>& skip);
  Job* first_ready(Queue& queue, const std::string& group);
  bool may_claim(const Queue& queue) const;

  std::map<std::string, Queue> queues_;
  std::uint64_t counter_ = 0;
};

/// Where in its queue a group stands among those of the same round: the SHA-256 of its name.
std::string group_hash(const std::string& name);

}  // namespace sluice::queue::model
