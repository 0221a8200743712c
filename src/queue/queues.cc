// SPDX-License-Identifier: MIT
// Queues: every verb in a transaction of its own.
#include <sluice/queue.h>

#include <fmt/format.h>

#include <algorithm>

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
  if (header.major == kFormatMajor && header.minor <= kFormatMinor) return {};
  return error(
      Code::invalid_argument,
      fmt::format("the queues of this store have format {}.{}, and this program knows {}.0 "
                  "to {}.{}: use a newer program",
                  header.major, header.minor, kFormatMajor, kFormatMajor, kFormatMinor));
}

// How much of a transaction an item takes.
struct Size {
  std::size_t jobs = 1;
  std::size_t bytes = 0;
};
Size size_of(const NewJob& job) {
  return {.bytes = job.payload.size()};
}
Size size_of(const AckRequest& request) {
  Size size{.bytes = request.result.size()};
  for (const auto& child : request.children) {
    ++size.jobs;
    size.bytes += child.payload.size();
  }
  return size;
}
Size size_of(const FailRequest& request) {
  return {.bytes = std::min(request.error.size(), kTextBytesMax)};
}
template <class Request>
Size size_of(const Request&) {
  return {};
}

/// How many of the items make up the next transaction: at least one.
template <class Request>
std::size_t chunk_of(std::span<const Request> items) {
  Size total{.jobs = 0};
  std::size_t count = 0;
  for (const Request& item : items) {
    const Size size = size_of(item);
    total.jobs += size.jobs;
    total.bytes += size.bytes;
    if (count > 0 && (total.jobs > kBatchJobsMax || total.bytes > kBatchBytesMax)) break;
    ++count;
  }
  return count;
}

template <class Answer>
bool refused(const Answer& answer) {
  return !status_of(answer).ok();
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

/// Many items, in as many transactions as they need.
template <class Answer, class Request, class Verb>
std::vector<Answer> run_batch(Queues& queues, std::span<const Request> items,
                              const BatchOptions& options, const kv::WriteOptions& write,
                              Verb verb) {
  std::vector<Answer> answers;
  answers.reserve(items.size());
  const auto fill = [&](const Status& status) {
    answers.resize(items.size(), Answer(Failure{status}));
    return answers;
  };
  const bool whole = chunk_of(items) == items.size();
  if (options.all_or_none && !whole)
    return fill(Status(Code::invalid_argument,
                       fmt::format("all or none is for at most {} jobs and {} bytes", kBatchJobsMax,
                                   kBatchBytesMax)));
  std::size_t chunk_number = 0;
  for (std::span<const Request> rest = items; !rest.empty(); ++chunk_number) {
    const auto chunk = rest.first(chunk_of(rest));
    rest = rest.subspan(chunk.size());
    CallOptions call{.operation = options.operation};
    if (!whole && !call.operation.empty()) call.operation += fmt::format("#{}", chunk_number);
    std::vector<Answer> some;
    auto commit = queues.store().run(
        [&](kv::Transaction& txn) -> Status {
          Scope scope(queues, txn);
          some = verb(scope, chunk, call);
          if (options.all_or_none)
            for (const Answer& answer : some) SLUICE_TRY(status_of(answer));
          return QueuesAccess::finish(scope);
        },
        write);
    if (!commit && options.all_or_none && std::ranges::any_of(some, refused<Answer>)) {
      // The refused items say why; the others were not done because of them.
      for (Answer& answer : some)
        if (!refused(answer))
          answer = Failure{Status(Code::cancelled, "another item of the batch was refused")};
      return some;
    }
    if (!commit) return fill(commit.error());
    std::ranges::move(some, std::back_inserter(answers));
  }
  return answers;
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
Status Queues::remove(const JobRef& job, const CallOptions& options) {
  return run_verb<Status>(*this, kDrain, [&](Scope& scope) { return scope.remove(job, options); });
}

std::vector<Result<std::string>> Queues::enqueue(std::span<const NewJob> jobs,
                                                 const BatchOptions& options) {
  return run_batch<Result<std::string>>(
      *this, jobs, options, kGrow,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.enqueue(some, call); });
}
std::vector<Status> Queues::ack(std::span<const AckRequest> requests, const BatchOptions& options) {
  const auto plain = [](const AckRequest& request) { return request.children.empty(); };
  return run_batch<Status>(
      *this, requests, options, std::ranges::all_of(requests, plain) ? kDrain : kGrow,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.ack(some, call); });
}
std::vector<Status> Queues::fail(std::span<const FailRequest> requests,
                                 const BatchOptions& options) {
  return run_batch<Status>(
      *this, requests, options, kDrain,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.fail(some, call); });
}
std::vector<Status> Queues::release(std::span<const ReleaseRequest> requests,
                                    const BatchOptions& options) {
  return run_batch<Status>(
      *this, requests, options, kDrain,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.release(some, call); });
}
std::vector<Status> Queues::cancel(std::span<const JobRef> jobs, const BatchOptions& options) {
  return run_batch<Status>(
      *this, jobs, options, kDrain,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.cancel(some, call); });
}
std::vector<Status> Queues::requeue(std::span<const RequeueRequest> requests,
                                    const BatchOptions& options) {
  return run_batch<Status>(
      *this, requests, options, kDrain,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.requeue(some, call); });
}
std::vector<Status> Queues::remove(std::span<const JobRef> jobs, const BatchOptions& options) {
  return run_batch<Status>(
      *this, jobs, options, kDrain,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.remove(some, call); });
}

}  // namespace sluice::queue
