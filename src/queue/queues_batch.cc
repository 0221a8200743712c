// SPDX-License-Identifier: MIT
// Queues: many items of one verb, in as many transactions as they need.
#include <fmt/format.h>
#include <sluice/queue.h>

#include <algorithm>

#include "queue/access.h"

namespace sluice::queue {
namespace {

// How much of a transaction an item takes.
struct Size {
  std::size_t jobs = 1;
  std::size_t bytes = 0;
};
Size size_of(const NewJob& job) {
  return {.jobs = 1 + job.after.size(), .bytes = job.payload.size()};
}
Size size_of(const AckRequest& request) {
  Size size{.bytes = request.result.size()};
  for (const auto& child : request.children) {
    size.jobs += size_of(child).jobs;
    size.bytes += child.payload.size();
  }
  return size;
}
Size size_of(const FailRequest& request) {
  return {.bytes = std::min(request.error.size(), kTextBytesMax)};
}
Size size_of(const EditRequest& request) {
  return {.bytes = request.payload ? request.payload->size() : 0};
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
std::vector<Result<WallTime>> Queues::extend(std::span<const ExtendRequest> requests,
                                             const BatchOptions& options) {
  return run_batch<Result<WallTime>>(
      *this, requests, options, kDrain,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.extend(some, call); });
}
std::vector<Status> Queues::edit(std::span<const EditRequest> requests,
                                 const BatchOptions& options) {
  const auto plain = [](const EditRequest& request) { return !request.payload; };
  return run_batch<Status>(
      *this, requests, options, std::ranges::all_of(requests, plain) ? kDrain : kGrow,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.edit(some, call); });
}
std::vector<Status> Queues::hold(std::span<const JobRef> jobs, const BatchOptions& options) {
  return run_batch<Status>(
      *this, jobs, options, kDrain,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.hold(some, call); });
}
std::vector<Status> Queues::unhold(std::span<const JobRef> jobs, const BatchOptions& options) {
  return run_batch<Status>(
      *this, jobs, options, kDrain,
      [](Scope& scope, auto some, const CallOptions& call) { return scope.unhold(some, call); });
}
std::vector<Status> Queues::break_lease(std::span<const JobRef> jobs, const BatchOptions& options) {
  return run_batch<Status>(*this, jobs, options, kDrain,
                           [](Scope& scope, auto some, const CallOptions& call) {
                             return scope.break_lease(some, call);
                           });
}

}  // namespace sluice::queue
