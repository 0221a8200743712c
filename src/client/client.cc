// SPDX-License-Identifier: MIT
#include <sluice/client.h>

#include <algorithm>
#include <iterator>

#include "client/answers.h"
#include "client/requests.h"
#include "client/transport.h"

namespace sluice::client {
namespace {

// A longer wait is several calls, so that a service that has gone silent is noticed.
constexpr Duration kWaitStep = std::chrono::seconds(60);

std::function<std::string()> text(std::string body) {
  return [body = std::move(body)] { return body; };
}

/// Whatever happened to a look, nothing was changed by it.
template <class T>
Result<T> of_a_look(Result<T> result) {
  if (result || result.error().code() != Code::commit_unknown) return result;
  return error(Code::unavailable, result.error().message());
}

/// Whether the service refused this request, so that others may fare better.
bool is_refusal(Code code) {
  return code != Code::unavailable && code != Code::commit_unknown &&
         code != Code::deadline_exceeded && code != Code::cancelled;
}

}  // namespace

class Client::Inside {
 public:
  explicit Inside(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  Transport& transport() { return *transport_; }
  std::string operation_of(const queue::CallOptions& options) {
    return options.operation.empty() ? transport_->fresh_operation() : options.operation;
  }
  /// A verb whose answer says nothing but that it was done.
  Status change(Result<std::string> path, Result<std::string> body,
                const queue::CallOptions& options);
  /// The first jobs of these, as many as go in one request: a result for each.
  std::vector<Result<std::string>> enqueue_part(std::span<const queue::NewJob> jobs,
                                                const std::string& operation);

 private:
  const std::unique_ptr<Transport> transport_;
};

Status Client::Inside::change(Result<std::string> path, Result<std::string> body,
                              const queue::CallOptions& options) {
  if (!path) return path.error();
  if (!body) return body.error();
  return status_of(transport_->call({.path = std::move(*path),
                                     .body = text(std::move(*body)),
                                     .operation = operation_of(options)}));
}

std::vector<Result<std::string>> Client::Inside::enqueue_part(std::span<const queue::NewJob> jobs,
                                                              const std::string& operation) {
  const JobsPart part = first_part(jobs);
  const auto send = [&]() -> Result<std::vector<Result<std::string>>> {
    SLUICE_LET(path, queue_path(jobs[0].queue, "/jobs"));
    SLUICE_TRY(part.body);
    SLUICE_LET(answer,
               transport_->call({.path = path, .body = text(*part.body), .operation = operation}));
    return read_ids(answer, part.count);
  };
  auto sent = send();
  if (sent) return std::move(*sent);
  const Result<std::string> failed = tl::unexpected(sent.error());
  return std::vector<Result<std::string>>(part.count, failed);
}

Client::Client(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::open(ClientOptions options) {
  SLUICE_LET(transport, Transport::open(std::move(options)));
  return std::unique_ptr<Client>(new Client(std::make_unique<Inside>(std::move(transport))));
}

Result<std::string> Client::enqueue(const queue::NewJob& job, const queue::CallOptions& options) {
  SLUICE_LET(path, queue_path(job.queue, "/jobs"));
  SLUICE_LET(body, job_text(job));
  SLUICE_LET(answer, inside_->transport().call({.path = path,
                                                .body = text(std::move(body)),
                                                .operation = inside_->operation_of(options)}));
  return read_id(answer);
}

std::vector<Result<std::string>> Client::enqueue(std::span<const queue::NewJob> jobs,
                                                 const queue::CallOptions& options) {
  const std::string operation = inside_->operation_of(options);
  std::vector<Result<std::string>> ids;
  ids.reserve(jobs.size());
  for (std::size_t part = 0; ids.size() < jobs.size(); ++part) {
    auto some = inside_->enqueue_part(
        jobs.subspan(ids.size()), part == 0 ? operation : operation + "/" + std::to_string(part));
    std::ranges::move(some, std::back_inserter(ids));
    const Status last = status_of(ids.back());
    if (last.ok() || is_refusal(last.code())) continue;
    const Result<std::string> unsent =
        error(Code::unavailable, "not sent, because jobs before it failed: " + last.message());
    ids.resize(jobs.size(), unsent);
  }
  return ids;
}

Result<std::vector<queue::Lease>> Client::claim(const queue::ClaimRequest& request) {
  Transport& transport = inside_->transport();
  SLUICE_TRY(claim_text(request, {}));
  const MonoTime until =
      transport.now() + std::clamp<Duration>(request.wait, Duration(), queue::kDelayMax);
  for (;;) {
    const MonoTime began = transport.now();
    const Duration wait = std::clamp<Duration>(until - began, Duration(), kWaitStep);
    const auto body = [&] {
      const Duration left = wait - (transport.now() - began);
      return *claim_text(request, std::max(left, Duration()));
    };
    const std::string operation =
        request.operation.empty() ? transport.fresh_operation() : request.operation;
    auto answer = transport.call({.path = "/v1/claim",
                                  .body = body,
                                  .operation = operation,
                                  .wait = wait,
                                  .stop = request.stop});
    if (!answer && request.stop.stop_requested()) return std::vector<queue::Lease>();
    if (!answer) return tl::unexpected(answer.error());
    SLUICE_LET(leases, read_leases(*answer));
    // Nothing, and early: the service is about to end.
    const MonoTime now = transport.now();
    if (!leases.empty() || now >= until || now - began < wait) return std::move(leases);
  }
}

Result<WallTime> Client::extend(const queue::ExtendRequest& request,
                                const queue::CallOptions& options) {
  SLUICE_LET(body, extend_text(request));
  // Done twice it is done once, so it needs no id that the service would have to remember.
  SLUICE_LET(answer, inside_->transport().call({.path = "/v1/extend",
                                                .body = text(std::move(body)),
                                                .operation = options.operation}));
  return read_deadline(answer);
}

Status Client::ack(const queue::AckRequest& request, const queue::CallOptions& options) {
  return inside_->change("/v1/ack", ack_text(request), options);
}

Status Client::fail(const queue::FailRequest& request, const queue::CallOptions& options) {
  return inside_->change("/v1/fail", fail_text(request), options);
}

Status Client::release(const queue::ReleaseRequest& request, const queue::CallOptions& options) {
  return inside_->change("/v1/release", release_text(request), options);
}

Status Client::cancel(const queue::JobRef& job, const queue::CallOptions& options) {
  return inside_->change(job_path(job.queue, job.id, "/cancel"), "", options);
}

Status Client::requeue(const queue::RequeueRequest& request, const queue::CallOptions& options) {
  if (request.keep_attempts)
    return error(Code::invalid_argument,
                 "over HTTP a job begins again at attempt 0: leave out 'keep_attempts'");
  return inside_->change(job_path(request.queue, request.id, "/requeue"), "", options);
}

Result<queue::Job> Client::get(const queue::JobRef& job) {
  const auto look = [&]() -> Result<queue::Job> {
    SLUICE_LET(path, job_path(job.queue, job.id));
    SLUICE_LET(answer, inside_->transport().call({.method = "GET", .path = path}));
    return read_job(answer);
  };
  return of_a_look(look());
}

Result<queue::Counts> Client::count(std::string_view queue) {
  const auto look = [&]() -> Result<queue::Counts> {
    SLUICE_LET(path, queue_path(queue));
    SLUICE_LET(answer, inside_->transport().call({.method = "GET", .path = path}));
    return read_counts(answer);
  };
  return of_a_look(look());
}

}  // namespace sluice::client
