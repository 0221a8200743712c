// SPDX-License-Identifier: MIT
#include "server/metrics.h"

#include <string_view>
#include <utility>

#include "runtime/collect.h"

namespace sluice::server {
namespace {

using runtime::Collection;
using Labels = runtime::MetricLabels;

void collect_routes(Collection& into, const Routes& routes) {
  constexpr const char* kClasses[] = {"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"};
  for (const RouteStats* route : routes.stats()) {
    const Labels labels = {{"method", route->method}, {"route", route->path}};
    for (std::size_t i = 1; i < route->answers.size(); ++i) {
      if (route->answers[i] == 0) continue;
      Labels with_class = labels;
      with_class.emplace_back("status", kClasses[i]);
      into.counter("sluiced_http_requests_total", "Requests by route and kind of answer.",
                   route->answers[i], std::move(with_class));
    }
    into.seconds("sluiced_http_request_seconds", "From the whole request to its answer.",
                 route->time_ns, labels);
  }
}

void collect_server(Collection& into, const net::HttpServerStats& stats) {
  into.gauge("sluiced_connections", "Open connections.", static_cast<double>(stats.connections));
  into.counter("sluiced_connections_total", "Connections that were accepted.", stats.accepted);
  into.counter("sluiced_connections_refused_total", "Connections beyond a limit.", stats.refused);
  into.counter("sluiced_requests_malformed_total", "Requests that were none.", stats.malformed);
  into.counter("sluiced_connections_too_slow_total", "Connections that a deadline ended.",
               stats.too_slow);
}

Status collect_queues(Collection& into, queue::Queues& queues) {
  SLUICE_LET(all, queues.list_queues({}, kMeasuredQueuesMax));
  for (const queue::Queue& queue : all) {
    const auto counts = queues.count(queue.name);
    if (!counts && counts.error().code() == Code::not_found) continue;  // Removed just now.
    SLUICE_TRY(counts);
    for (std::size_t i = 1; i <= queue::kLaneCount; ++i) {
      const auto lane = static_cast<queue::Lane>(i);
      into.gauge("sluiced_jobs", "Jobs by queue and lane.", static_cast<double>(counts->of(lane)),
                 {{"queue", queue.name}, {"lane", queue::lane_name(lane)}});
    }
    into.gauge("sluiced_queue_paused", "1 if the queue is paused.", queue.paused ? 1 : 0,
               {{"queue", queue.name}});
  }
  return {};
}

void collect_distribution(Collection& into, const std::string& name, const std::string& help,
                          const kv::Distribution& values, double unit) {
  into.gauge(name, help, static_cast<double>(values.p50) * unit, {{"quantile", "0.5"}});
  into.gauge(name, help, static_cast<double>(values.p99) * unit, {{"quantile", "0.99"}});
  into.gauge(name, help, static_cast<double>(values.max) * unit, {{"quantile", "1"}});
}

void collect_store(Collection& into, const kv::Stats& stats) {
  constexpr double kNano = 1e-9;
  into.counter("sluiced_store_commits_total", "Transactions that changed something.",
               stats.commits);
  into.counter("sluiced_store_conflicts_total", "Transactions that had to run again.",
               stats.conflicts);
  into.counter("sluiced_store_refused_full_total", "Transactions refused for want of room.",
               stats.refused_full);
  into.counter("sluiced_store_written_bytes_total", "Bytes of keys and values.",
               stats.bytes_written);
  into.gauge("sluiced_store_used_bytes", "Room that is in use.",
             static_cast<double>(stats.used_bytes));
  into.gauge("sluiced_store_map_bytes", "The most that the store can hold.",
             static_cast<double>(stats.map_bytes));
  collect_distribution(into, "sluiced_store_batch_transactions", "Transactions that share a sync.",
                       stats.batch_size, 1);
  collect_distribution(into, "sluiced_store_commit_seconds", "Writing and syncing a batch.",
                       stats.commit_ns, kNano);
  collect_distribution(into, "sluiced_store_lock_wait_seconds", "Waiting for other processes.",
                       stats.lock_wait_ns, kNano);
}

}  // namespace

Result<std::string> metrics_text(queue::Queues& queues, const Measured& measured) {
  Collection all;
  collect_routes(all, measured.routes);
  if (measured.server) collect_server(all, measured.server());
  collect_store(all, queues.store().stats());
  all.counter("sluiced_leases_lapsed_total", "Leases that ran out.", measured.lapsed);
  constexpr const char* kLimited = "sluiced_limited_total";
  constexpr const char* kLimitedHelp = "Requests that met a limit of their token.";
  all.counter(kLimited, kLimitedHelp, measured.limited.by_rate, {{"limit", "rate"}});
  all.counter(kLimited, kLimitedHelp, measured.limited.by_backlog, {{"limit", "backlog"}});
  SLUICE_TRY(collect_queues(all, queues));
  return all.text();
}

}  // namespace sluice::server
