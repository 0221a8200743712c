// SPDX-License-Identifier: MIT
// Queues: every verb in a transaction of its own.
#include <sluice/queue.h>

#include <fmt/format.h>

#include "queue/access.h"
#include "queue/records.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

Status open_header(kv::Store& store) {
  std::optional<std::string> stored;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(value, reader.get(header_key()));
    stored = value;
    return {};
  }));
  if (!stored) {
    const HeaderRecord header{.created = to_millis(store.now())};
    return status_of(store.run([&](kv::Transaction& txn) -> Status {
      // Somebody else may have been quicker.
      SLUICE_LET(value, txn.get(header_key()));
      if (!value) txn.put(header_key(), encode(header));
      return {};
    }));
  }
  SLUICE_LET(header, decode_header(*stored));
  if (header.major == kFormatMajor && header.minor == kFormatMinor) return {};
  if (header.major == kFormatMajor && header.minor < kFormatMinor) {
    // From now on it may hold what an older program does not know.
    header.minor = kFormatMinor;
    return status_of(store.run([&](kv::Transaction& txn) -> Status {
      txn.put(header_key(), encode(header));
      return {};
    }));
  }
  return error(
      Code::invalid_argument,
      fmt::format("the queues of this store have format {}.{}, and this program knows {}.0 "
                  "to {}.{}: use a newer program",
                  header.major, header.minor, kFormatMajor, kFormatMajor, kFormatMinor));
}

/// One verb, one transaction. If it is refused, the transaction is not committed.
template <class Answer, class Verb>
Answer run_verb(Queues& queues, const kv::WriteOptions& options, Verb verb) {
  Answer answer{};
  auto commit = queues.store().run(
      [&](kv::Transaction& txn) -> Status {
        Scope scope(queues, txn);
        answer = verb(scope);
        SLUICE_TRY(status_of(answer));
        return QueuesAccess::finish(scope);
      },
      options);
  if (!commit) return Answer(Failure{commit.error()});
  return answer;
}

}  // namespace

Result<std::unique_ptr<Queues>> Queues::open(kv::Store& store, QueuesOptions options) {
  SLUICE_TRY(open_header(store));
  return std::unique_ptr<Queues>(new Queues(store, options));
}

Queues::Queues(kv::Store& store, QueuesOptions options)
    : store_(store),
      inside_(std::make_unique<Inside>(store, options.random,
                                       [this](const ClaimPlan& plan) -> Result<ClaimOutcome> {
                                         ClaimOutcome outcome;
                                         auto commit = store_.run(
                                             [&](kv::Transaction& txn) -> Status {
                                               Steps steps(inside_->shared, txn);
                                               SLUICE_LET(claimed, queue::claim(steps, plan));
                                               outcome = std::move(claimed);
                                               return steps.flush();
                                             },
                                             kDrain);
                                         if (!commit) return Failure{commit.error()};
                                         return outcome;
                                       })) {}

Queues::~Queues() = default;

Result<std::string> Queues::enqueue(const NewJob& job, const CallOptions& options) {
  return run_verb<Result<std::string>>(*this, kGrow,
                                       [&](Scope& scope) { return scope.enqueue(job, options); });
}
Result<WallTime> Queues::extend(const ExtendRequest& request, const CallOptions& options) {
  return run_verb<Result<WallTime>>(*this, kDrain,
                                    [&](Scope& scope) { return scope.extend(request, options); });
}
Status Queues::ack(const AckRequest& request, const CallOptions& options) {
  return run_verb<Status>(*this, request.children.empty() ? kDrain : kGrow,
                          [&](Scope& scope) { return scope.ack(request, options); });
}
Status Queues::fail(const FailRequest& request, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain,
                          [&](Scope& scope) { return scope.fail(request, options); });
}
Status Queues::release(const ReleaseRequest& request, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain,
                          [&](Scope& scope) { return scope.release(request, options); });
}
Status Queues::cancel(const JobRef& job, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain, [&](Scope& scope) { return scope.cancel(job, options); });
}
Status Queues::requeue(const RequeueRequest& request, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain,
                          [&](Scope& scope) { return scope.requeue(request, options); });
}
Status Queues::edit(const EditRequest& request, const CallOptions& options) {
  return run_verb<Status>(*this, request.payload ? kGrow : kDrain,
                          [&](Scope& scope) { return scope.edit(request, options); });
}
Status Queues::hold(const JobRef& job, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain, [&](Scope& scope) { return scope.hold(job, options); });
}
Status Queues::unhold(const JobRef& job, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain, [&](Scope& scope) { return scope.unhold(job, options); });
}
Status Queues::break_lease(const JobRef& job, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain,
                          [&](Scope& scope) { return scope.break_lease(job, options); });
}
Status Queues::add_after(const AddAfterRequest& request, const CallOptions& options) {
  return run_verb<Status>(*this, kGrow,
                          [&](Scope& scope) { return scope.add_after(request, options); });
}
Result<std::string> Queues::open_batch(const NewBatch& batch, const CallOptions& options) {
  return run_verb<Result<std::string>>(
      *this, kGrow, [&](Scope& scope) { return scope.open_batch(batch, options); });
}
Status Queues::seal_batch(const BatchRef& batch, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain,
                          [&](Scope& scope) { return scope.seal_batch(batch, options); });
}
Status Queues::cancel_batch(const BatchRef& batch, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain,
                          [&](Scope& scope) { return scope.cancel_batch(batch, options); });
}
Status Queues::remove(const JobRef& job, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain, [&](Scope& scope) { return scope.remove(job, options); });
}

}  // namespace sluice::queue
