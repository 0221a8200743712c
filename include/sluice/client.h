// SPDX-License-Identifier: MIT
// The queues of a service, sluiced, over HTTP: the same verbs as sluice/queue.h has for a store.
//
//   auto client = sluice::client::Client::open({.url = "http://127.0.0.1:3100"});
//   (*client)->enqueue({.queue = "mail", .payload = R"({"to": "ann"})"});
//   auto leases = (*client)->claim({.queues = {"mail"}, .worker = "me", .wait = 30s});
//   for (const auto& lease : *leases) (*client)->ack({.queue = lease.queue, .token = lease.token});
#pragma once

#include <sluice/backoff.h>
#include <sluice/clock.h>
#include <sluice/job.h>
#include <sluice/queue.h>
#include <sluice/random.h>
#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::client {

/// Jobs, and bytes of them, in one request; more are sent as several.
inline constexpr std::size_t kRequestJobsMax = 1'000;
inline constexpr std::size_t kRequestBytesMax = std::size_t{1} << 20;

struct ClientOptions {
  /// "http://127.0.0.1:3100", "https://jobs.example.org", "unix:/run/sluiced.sock". May go on with
  /// the path below which a proxy has the service.
  std::string url = {};
  /// Sent with every call ("Authorization: Bearer"); empty: none. Only https keeps it secret.
  std::string token = {};
  /// PEM: trusts what this file holds and nothing else. Empty: what the system trusts.
  std::string ca_file = {};
  /// Calls at once; those beyond wait for their turn. Claims that wait count.
  std::size_t connections_max = 64;
  Duration connect_time = std::chrono::seconds(10);
  /// For all of a call, with its repetitions; a claim may take its `wait` longer.
  Duration call_time = std::chrono::seconds(30);
  /// How often a call is tried if the service cannot be reached, or its answer is lost.
  unsigned attempts_max = 4;
  BackoffPolicy backoff = {.base = std::chrono::milliseconds(100), .jitter = 0.5};
  const Clock* clock = &system_clock();
  Random* random = nullptr;  ///< Null: the kernel's. Used under a lock; outlives the client.
};

/// The verbs of one service. Each does what its namesake of queue::Queues does, on the queues of
/// the service, and answers when that is durable.
///
/// Failures: the code is the service's own. Besides, `unavailable` if it cannot be reached (nothing
/// happened), `commit_unknown` if its answer is lost for good (it may have happened), and
/// `permission_denied` if the token is not accepted.
///
/// Lost answers: a call that may not happen twice goes with an operation id, its caller's or one of
/// its own (`Idempotency-Key`), and is repeated with it, so it has one effect. If that is in vain
/// the answer is `commit_unknown`: repeat the call with the operation that it was given, or look.
///
/// Payloads: one that is the text of a JSON value goes as that value, any other as base64. Either
/// way its bytes come out as they went in, but for white space around a JSON value, which the
/// service does not tell.
///
/// Over HTTP there are no unique keys, no dependencies and no kept attempts (NewJob::unique and
/// after, RequeueRequest::keep_attempts): `invalid_argument`. Times are cut to milliseconds, spans
/// rounded up to them. Names and results are UTF-8.
///
/// Concurrency: every member may be called from any thread at any time. Owns a thread, which ends
/// with it; no call may be under way then.
class Client {
 public:
  /// `invalid_argument` if an option makes no sense. Connects to nothing yet.
  static Result<std::unique_ptr<Client>> open(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<std::string> enqueue(const queue::NewJob& job, const queue::CallOptions& options = {});
  /// One result per job, in order. Up to kRequestJobsMax jobs and kRequestBytesMax bytes of one
  /// queue go in one request, and what is malformed there refuses all of them. If the service
  /// fails, those that were not sent get `unavailable`.
  std::vector<Result<std::string>> enqueue(std::span<const queue::NewJob> jobs,
                                           const queue::CallOptions& options = {});

  /// Waits up to `wait` for a first job, then returns what there is, perhaps nothing; earlier if
  /// `stop` is requested or the service is about to end.
  Result<std::vector<queue::Lease>> claim(const queue::ClaimRequest& request);

  Result<WallTime> extend(const queue::ExtendRequest& request,
                          const queue::CallOptions& options = {});
  Status ack(const queue::AckRequest& request, const queue::CallOptions& options = {});
  Status fail(const queue::FailRequest& request, const queue::CallOptions& options = {});
  Status release(const queue::ReleaseRequest& request, const queue::CallOptions& options = {});

  Status cancel(const queue::JobRef& job, const queue::CallOptions& options = {});
  Status requeue(const queue::RequeueRequest& request, const queue::CallOptions& options = {});

  /// With payload and history. `number`, `shard`, `claims` and `after` are not told.
  Result<queue::Job> get(const queue::JobRef& job);
  Result<queue::Counts> count(std::string_view queue);

 private:
  class Inside;
  explicit Client(std::unique_ptr<Inside> inside);

  const std::unique_ptr<Inside> inside_;
};

}  // namespace sluice::client
