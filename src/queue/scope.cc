// SPDX-License-Identifier: MIT
// Scope: the verbs with their operation ids.
#include <sluice/queue.h>

#include <charconv>

#include "codec/crc32c.h"
#include "codec/tuple.h"
#include "queue/after.h"
#include "queue/batch.h"
#include "queue/checks.h"
#include "queue/inside.h"
#include "queue/names.h"
#include "queue/operations.h"
#include "queue/retry_wire.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

using codec::TupleWriter;

// What identifies a request: every field, and whether an optional one is there.
void describe(TupleWriter& to, bool flag) {
  to.number(flag ? 1 : 0);
}
void describe(TupleWriter& to, std::int32_t number) {
  to.number(number);
}
void describe(TupleWriter& to, Duration duration) {
  to.number(duration.count());
}
void describe(TupleWriter& to, WallTime time) {
  to.number(time.time_since_epoch().count());
}
void describe(TupleWriter& to, const std::string& text) {
  to.string(text);
}
void describe(TupleWriter& to, const RetryPolicy& policy) {
  to.string(encode(policy));
}
void describe(TupleWriter& to, const Unique& unique);
void describe(TupleWriter& to, const std::vector<After>& after);
void describe(TupleWriter& to, const NewJob& job);
template <class T>
void describe(TupleWriter& to, const std::optional<T>& value) {
  describe(to, value.has_value());
  if (value) describe(to, *value);
}
void describe(TupleWriter& to, const Token& token) {
  to.mark(token.job.encode()).number(token.claim);
}
template <class... Parts>
void describe_all(TupleWriter& to, const Parts&... parts) {
  (describe(to, parts), ...);
}

void describe(TupleWriter& to, const Unique& unique) {
  describe_all(to, unique.key, unique.window);
  to.number(static_cast<std::uint8_t>(unique.policy));
  for (const Lane lane : unique.lanes) to.number(static_cast<std::uint8_t>(lane));
}
void describe(TupleWriter& to, const std::vector<After>& after) {
  for (const After& one : after) {
    describe_all(to, one.queue, one.id);
    to.number(static_cast<std::uint8_t>(one.policy));
  }
}
void describe(TupleWriter& to, const NewJob& job) {
  to.number(codec::crc32c(job.payload));
  describe_all(to, job.queue, job.id, job.group, job.priority, job.label, job.delay, job.due,
               job.ttl, job.retry, job.hold, job.unique, job.after, job.batch);
}
void describe(TupleWriter& to, const AckRequest& request) {
  describe_all(to, request.queue, request.token, request.result);
  to.number(request.children.size());
  for (const NewJob& child : request.children) describe(to, child);
}
void describe(TupleWriter& to, const FailRequest& request) {
  describe_all(to, request.queue, request.token, request.error, request.delay, request.dead);
}
void describe(TupleWriter& to, const ReleaseRequest& request) {
  describe_all(to, request.queue, request.token, request.delay);
}
void describe(TupleWriter& to, const ExtendRequest& request) {
  describe_all(to, request.queue, request.token, request.lease, request.progress);
}
void describe(TupleWriter& to, const JobRef& ref) {
  describe_all(to, ref.queue, ref.id);
}
void describe(TupleWriter& to, const BatchRef& ref) {
  describe_all(to, ref.queue, ref.id);
}
void describe(TupleWriter& to, const NewBatch& batch) {
  describe_all(to, batch.queue, batch.id, batch.on_success, batch.on_end);
}
void describe(TupleWriter& to, const AddAfterRequest& request) {
  describe_all(to, request.queue, request.id, request.after);
}
void describe(TupleWriter& to, const RequeueRequest& request) {
  describe_all(to, request.queue, request.id, request.keep_attempts);
}
void describe(TupleWriter& to, const EditRequest& request) {
  describe_all(to, request.queue, request.id, request.priority, request.due, request.payload);
}

// Between an item's outcome and what the verb returns.
ItemOutcome to_outcome(const Status& status) {
  return {.code = status.code(), .text = status.message()};
}
ItemOutcome to_outcome(const Result<std::string>& result) {
  return result ? ItemOutcome{.text = *result} : to_outcome(result.error());
}
ItemOutcome to_outcome(const Result<WallTime>& result) {
  return result ? ItemOutcome{.text = std::to_string(to_millis(*result))}
                : to_outcome(result.error());
}
void from_outcome(const ItemOutcome& item, Status& status) {
  status = item.code == Code::ok ? Status() : Status(item.code, item.text);
}
void from_outcome(const ItemOutcome& item, Result<std::string>& result) {
  if (item.code == Code::ok)
    result = item.text;
  else
    result = error(item.code, item.text);
}
void from_outcome(const ItemOutcome& item, Result<WallTime>& result) {
  Millis ms = 0;
  std::from_chars(item.text.data(), item.text.data() + item.text.size(), ms);
  if (item.code == Code::ok)
    result = to_wall(ms);
  else
    result = error(item.code, item.text);
}

/// One verb over its items, or the outcome of the same call before.
template <class Answer, class Request, class Verb>
std::vector<Answer> run_items(Steps& steps, std::string_view name, std::span<const Request> items,
                              std::string_view operation_id, Verb verb) {
  const auto all = [&](const Status& status) {
    return std::vector<Answer>(items.size(), Answer(Failure{status}));
  };
  if (items.empty()) return {};
  if (auto status = check_name_or_empty("operation id", operation_id); !status.ok())
    return all(status);
  std::vector<Answer> answers;
  answers.reserve(items.size());
  if (operation_id.empty()) {
    for (const Request& item : items) answers.push_back(verb(item));
    return answers;
  }
  TupleWriter request;
  for (const Request& item : items) describe(request, item);
  const Operation operation(items[0].queue, operation_id, name, request.take());
  auto before = operation.find(steps);
  if (!before) return all(before.error());
  if (*before && (*before)->size() == items.size()) {
    for (const ItemOutcome& item : **before)
      from_outcome(item, answers.emplace_back(Failure{Status(Code::corrupt, "")}));
    return answers;
  }
  std::vector<ItemOutcome> outcome;
  for (const Request& item : items) {
    answers.push_back(verb(item));
    outcome.push_back(to_outcome(answers.back()));
  }
  operation.store(steps, outcome);
  return answers;
}

// ------------------------------------------------------------------------------------------ claim

std::string describe(const ClaimRequest& request) {
  TupleWriter to;
  for (const auto& queue : request.queues) to.string(queue);
  to.number(request.jobs_max);
  describe(to, request.lease);  // Not the worker: another one may repeat the call.
  for (const auto& group : request.skip_groups) to.string(group);
  return to.take();
}

/// The leases of an earlier claim that are still held.
Result<Claimed> claimed_before(Steps& steps, const std::vector<ItemOutcome>& outcome) {
  Claimed claimed;
  for (const ItemOutcome& item : outcome) {
    codec::TupleReader reader(item.text);
    SLUICE_LET(queue, reader.string());
    SLUICE_LET(number, reader.mark());
    SLUICE_LET(claim, reader.number<std::uint64_t>());
    const Token token{.job = Bytes16::of(number).mark(), .claim = claim};
    auto job = get_leased(steps, queue, token);
    if (!job && job.error().code() == Code::lease_lost) continue;
    SLUICE_TRY(job);
    SLUICE_LET(lease, make_lease(steps, *job));
    claimed.leases.push_back(std::move(lease));
  }
  return claimed;
}

std::vector<ItemOutcome> to_outcome(const std::vector<Lease>& leases) {
  std::vector<ItemOutcome> outcome;
  for (const Lease& lease : leases) {
    TupleWriter to;
    to.string(lease.queue);
    describe(to, lease.token);
    outcome.push_back({.text = to.take()});
  }
  return outcome;
}

}  // namespace

Scope::Scope(Queues& queues, kv::Transaction& txn)
    : steps_(std::make_unique<Steps>(queues.inside_->shared, txn)) {}

Scope::~Scope() {
  if (steps_ == nullptr) return;
  if (auto status = steps_->flush(); !status.ok()) steps_->txn().refuse(status);
}

Status Scope::finish() {
  const auto steps = std::move(steps_);
  return steps->flush();
}

Result<Claimed> Scope::claim(const ClaimRequest& request) {
  SLUICE_TRY(check_claim(request));
  SLUICE_TRY(check_name_or_empty("operation id", request.operation));
  const Operation operation(request.queues[0], request.operation, "claim", describe(request));
  SLUICE_LET(before, operation.find(*steps_));
  if (before) {
    steps_->note_replay();
    return claimed_before(*steps_, *before);
  }
  SLUICE_LET(outcome, queue::claim(*steps_, {.queues = request.queues,
                                             .skip_groups = request.skip_groups,
                                             .takers = {{.jobs_max = request.jobs_max,
                                                         .lease = request.lease,
                                                         .worker = request.worker}}}));
  operation.store(*steps_, to_outcome(outcome.leases[0]));
  Claimed claimed{.leases = std::move(outcome.leases[0]), .moved = outcome.moved};
  if (outcome.next) claimed.next = to_wall(*outcome.next);
  return claimed;
}

Result<std::string> Scope::enqueue(const NewJob& job, const CallOptions& options) {
  return enqueue(std::span<const NewJob>(&job, 1), options)[0];
}
std::vector<Result<std::string>> Scope::enqueue(std::span<const NewJob> jobs,
                                                const CallOptions& options) {
  return run_items<Result<std::string>>(
      *steps_, "enqueue", jobs, options.operation,
      [&](const NewJob& job) { return queue::enqueue(*steps_, job); });
}

Status Scope::ack(const AckRequest& request, const CallOptions& options) {
  return ack(std::span<const AckRequest>(&request, 1), options)[0];
}
std::vector<Status> Scope::ack(std::span<const AckRequest> requests, const CallOptions& options) {
  return run_items<Status>(*steps_, "ack", requests, options.operation,
                           [&](const AckRequest& one) { return queue::ack(*steps_, one); });
}

Status Scope::fail(const FailRequest& request, const CallOptions& options) {
  return fail(std::span<const FailRequest>(&request, 1), options)[0];
}
std::vector<Status> Scope::fail(std::span<const FailRequest> requests, const CallOptions& options) {
  return run_items<Status>(*steps_, "fail", requests, options.operation,
                           [&](const FailRequest& one) { return queue::fail(*steps_, one); });
}

Status Scope::release(const ReleaseRequest& request, const CallOptions& options) {
  return release(std::span<const ReleaseRequest>(&request, 1), options)[0];
}
std::vector<Status> Scope::release(std::span<const ReleaseRequest> requests,
                                   const CallOptions& options) {
  return run_items<Status>(*steps_, "release", requests, options.operation,
                           [&](const ReleaseRequest& one) { return queue::release(*steps_, one); });
}

Result<WallTime> Scope::extend(const ExtendRequest& request, const CallOptions& options) {
  return extend(std::span<const ExtendRequest>(&request, 1), options)[0];
}
std::vector<Result<WallTime>> Scope::extend(std::span<const ExtendRequest> requests,
                                            const CallOptions& options) {
  return run_items<Result<WallTime>>(
      *steps_, "extend", requests, options.operation,
      [&](const ExtendRequest& one) { return queue::extend(*steps_, one); });
}

Status Scope::cancel(const JobRef& job, const CallOptions& options) {
  return cancel(std::span<const JobRef>(&job, 1), options)[0];
}
std::vector<Status> Scope::cancel(std::span<const JobRef> jobs, const CallOptions& options) {
  return run_items<Status>(*steps_, "cancel", jobs, options.operation,
                           [&](const JobRef& one) { return queue::cancel(*steps_, one); });
}

Status Scope::requeue(const RequeueRequest& request, const CallOptions& options) {
  return requeue(std::span<const RequeueRequest>(&request, 1), options)[0];
}
std::vector<Status> Scope::requeue(std::span<const RequeueRequest> requests,
                                   const CallOptions& options) {
  return run_items<Status>(*steps_, "requeue", requests, options.operation,
                           [&](const RequeueRequest& one) { return queue::requeue(*steps_, one); });
}

Status Scope::edit(const EditRequest& request, const CallOptions& options) {
  return edit(std::span<const EditRequest>(&request, 1), options)[0];
}
std::vector<Status> Scope::edit(std::span<const EditRequest> requests, const CallOptions& options) {
  return run_items<Status>(*steps_, "edit", requests, options.operation,
                           [&](const EditRequest& one) { return queue::edit(*steps_, one); });
}

Status Scope::hold(const JobRef& job, const CallOptions& options) {
  return hold(std::span<const JobRef>(&job, 1), options)[0];
}
std::vector<Status> Scope::hold(std::span<const JobRef> jobs, const CallOptions& options) {
  return run_items<Status>(*steps_, "hold", jobs, options.operation,
                           [&](const JobRef& one) { return queue::hold(*steps_, one); });
}

Status Scope::unhold(const JobRef& job, const CallOptions& options) {
  return unhold(std::span<const JobRef>(&job, 1), options)[0];
}
std::vector<Status> Scope::unhold(std::span<const JobRef> jobs, const CallOptions& options) {
  return run_items<Status>(*steps_, "unhold", jobs, options.operation,
                           [&](const JobRef& one) { return queue::unhold(*steps_, one); });
}

Status Scope::break_lease(const JobRef& job, const CallOptions& options) {
  return break_lease(std::span<const JobRef>(&job, 1), options)[0];
}
std::vector<Status> Scope::break_lease(std::span<const JobRef> jobs, const CallOptions& options) {
  return run_items<Status>(*steps_, "break_lease", jobs, options.operation,
                           [&](const JobRef& one) { return queue::break_lease(*steps_, one); });
}

Status Scope::remove(const JobRef& job, const CallOptions& options) {
  return remove(std::span<const JobRef>(&job, 1), options)[0];
}
std::vector<Status> Scope::remove(std::span<const JobRef> jobs, const CallOptions& options) {
  return run_items<Status>(*steps_, "remove", jobs, options.operation,
                           [&](const JobRef& one) { return queue::remove(*steps_, one); });
}

Status Scope::add_after(const AddAfterRequest& request, const CallOptions& options) {
  return run_items<Status>(
      *steps_, "add_after", std::span<const AddAfterRequest>(&request, 1), options.operation,
      [&](const AddAfterRequest& one) { return queue::add_after(*steps_, one); })[0];
}
Result<std::string> Scope::open_batch(const NewBatch& batch, const CallOptions& options) {
  return run_items<Result<std::string>>(
      *steps_, "open_batch", std::span<const NewBatch>(&batch, 1), options.operation,
      [&](const NewBatch& one) { return queue::open_batch(*steps_, one); })[0];
}
Status Scope::seal_batch(const BatchRef& batch, const CallOptions& options) {
  return run_items<Status>(*steps_, "seal_batch", std::span<const BatchRef>(&batch, 1),
                           options.operation,
                           [&](const BatchRef& one) { return queue::seal_batch(*steps_, one); })[0];
}
Status Scope::cancel_batch(const BatchRef& batch, const CallOptions& options) {
  return run_items<Status>(
      *steps_, "cancel_batch", std::span<const BatchRef>(&batch, 1), options.operation,
      [&](const BatchRef& one) { return queue::cancel_batch(*steps_, one); })[0];
}

}  // namespace sluice::queue
