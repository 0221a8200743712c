// SPDX-License-Identifier: MIT
// Everything that sluiced answers, and what it does by itself.
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/queue.h>

#include <atomic>
#include <functional>
#include <stop_token>

#include "net/http_server.h"
#include "server/compat.h"
#include "server/errands.h"
#include "server/routes.h"
#include "server/v1.h"

namespace sluice::server {

struct ServiceOptions {
  CompatOptions compat = {};
  /// The report of /v1/verify, as JSON: made in another process, if whoever reads a damaged store
  /// may be ended by it. Without it the report is made here.
  std::function<Result<std::string>()> verify = {};
  const Clock* clock = &system_clock();
  LogSink log = {};
};

/// How many loops the HTTP server under it should have: one per core, but for the core of the
/// thread that commits for all of them; at least one.
unsigned default_loops();

/// Lifecycle: made on queues that outlive it; destroyed when no request is being handled any more.
/// Concurrency: handle() may be called by any number of threads.
class Service {
 public:
  Service(queue::Queues& queues, ServiceOptions options);

  /// Answers a request, now or later. Never blocks.
  void handle(net::Exchange exchange) const { routes_.handle(std::move(exchange)); }

  /// Where /metrics finds what the HTTP server counts. Before the first request.
  void show_server(std::function<net::HttpServerStats()> stats) {
    server_stats_ = std::move(stats);
  }

  /// Reads the tokens if they were changed. Before the first request, and whenever they should be
  /// good at once; keep_house() does it once a second.
  Status refresh_tokens() { return access_.refresh(); }
  /// Requests need a token also when there is none.
  void require_tokens() { access_.require(); }

  /// Whoever waits for a job gets none, at once: before the server is drained.
  void stop_waiting() { v1_.stop(); }

  /// Does what is due, again and again, until `stop` is requested: ends leases, expires jobs and
  /// markers, fires schedules. The caller gives it a thread.
  void keep_house(const std::stop_token& stop);

 private:
  void health(Call call) const;
  void metrics(Call call);
  Duration tidy_up();

  queue::Queues& queues_;
  const ServiceOptions options_;
  Access access_;
  Work work_;
  Compat compat_;
  V1 v1_;
  Routes routes_;
  std::function<net::HttpServerStats()> server_stats_;
  std::atomic<std::uint64_t> lapsed_ = 0;  // Leases that ran out.
  std::atomic<MonoTime> well_at_;          // When the store last did what it was asked.
  Errands errands_;                        // Last: what it runs uses the others.
};

}  // namespace sluice::server
