// SPDX-License-Identifier: MIT
#include <sluice/runtime/metrics.h>

#include <utility>
#include <vector>

#include "retracker/stats.h"

namespace sluice::cli {
namespace {

using runtime::Metric;
using Labels = std::vector<std::pair<std::string, std::string>>;

class Collection {
 public:
  template <class T>
  void gauge(std::string name, std::string help, T value, Labels labels = {}) {
    add(Metric::Type::gauge, std::move(name), std::move(help), static_cast<double>(value),
        std::move(labels));
  }
  void counter(std::string name, std::string help, std::uint64_t value, Labels labels = {}) {
    add(Metric::Type::counter, std::move(name), std::move(help), static_cast<double>(value),
        std::move(labels));
  }
  std::string text() const { return runtime::prometheus_text(metrics_); }

 private:
  void add(Metric::Type type, std::string name, std::string help, double value, Labels labels) {
    metrics_.push_back({.name = std::move(name),
                        .help = std::move(help),
                        .type = type,
                        .labels = std::move(labels),
                        .value = value});
  }
  std::vector<Metric> metrics_;
};

void collect_requests(Collection& into, const Overview& all) {
  const tracker::ServiceStats& service = all.service;
  into.counter(
      "requests", "Announces and scrapes, over HTTP and UDP.",
      service.announces_http + service.announces_udp + service.scrapes_http + service.scrapes_udp);
  const std::pair<const char*, std::uint64_t> kinds[] = {{"announce_http", service.announces_http},
                                                         {"announce_udp", service.announces_udp},
                                                         {"scrape_http", service.scrapes_http},
                                                         {"scrape_udp", service.scrapes_udp},
                                                         {"connect_udp", service.connects}};
  for (const auto& [kind, count] : kinds)
    into.counter("retracker_requests_total", "Requests by kind.", count, {{"kind", kind}});
  into.counter("retracker_refused_total", "Requests that were refused.", service.refused);
  into.counter("retracker_bad_connection_ids_total", "UDP packets with a wrong connection id.",
               service.bad_ids);
  into.counter("retracker_waited_total", "Replies that waited for upstreams.", service.waited);
  into.gauge("retracker_torrents", "Torrents with peers.", all.totals.swarms);
  into.gauge("retracker_peers", "Peers.", all.totals.peers);
  into.gauge("retracker_seeders", "Peers that have everything.", all.totals.seeders);
  into.gauge("retracker_connections", "Open HTTP connections.", all.http.connections);
}

void collect_queue(Collection& into, const tracker::ForwardInsight& forward) {
  into.gauge("queue_depth", "Jobs that are ready.", forward.depth);
  into.gauge("queue_capacity", "Ready jobs that there is room for.", forward.capacity);
  into.gauge("queue_fill_pct", "How full that is.", forward.fill_pct);
  into.counter("queue_dropped_full", "What a full queue cost.", forward.dropped_full);
  into.counter("queue_rate_limited", "First announces that got no token.", forward.rate_limited);
  into.counter("queue_throttled_forwarders", "Announces that fewer forwarders heard of.",
               forward.throttled);
  into.gauge("forwarder_workers", "Announces that may be in flight.", forward.slots);
  into.gauge("retracker_jobs_scheduled", "Jobs that wait for their time.", forward.scheduled);
  into.gauge("retracker_jobs_running", "Announces in flight.", forward.running);
  const std::string jobs = "retracker_jobs_total";
  const std::string help = "Jobs by what became of them; created is the sum, with those pending.";
  into.counter(jobs, help, forward.jobs.created, {{"end", "created"}});
  into.counter(jobs, help, forward.jobs.succeeded, {{"end", "succeeded"}});
  into.counter(jobs, help, forward.jobs.failed, {{"end", "failed"}});
  into.counter(jobs, help, forward.jobs.cancelled, {{"end", "cancelled"}});
  for (std::size_t i = 0; i < tracker::kDropReasons; ++i)
    into.counter(
        jobs, help, forward.jobs.dropped[i],
        {{"end", std::string("dropped_") + drop_reason_name(static_cast<tracker::DropReason>(i))}});
}

void collect_upstream(Collection& into, const tracker::UpstreamInsight& upstream) {
  const std::pair<const char*, std::uint64_t> ends[] = {
      {"ok", upstream.counts.ok},
      {"refused", upstream.counts.refused},
      {"busy", upstream.counts.busy},
      {"unreachable", upstream.counts.unreachable}};
  for (const auto& [status, count] : ends)
    into.counter("forwarder_status", "Announces to a forwarder by how they ended.", count,
                 {{"name", upstream.name}, {"status", status}});
  into.gauge("retracker_forwarder_state", "1 for the state that the forwarder is in.", 1,
             {{"name", upstream.name}, {"state", upstream_state_name(upstream.state)}});
  into.gauge("retracker_forwarder_response_seconds", "The mean time to an answer.",
             std::chrono::duration<double>(upstream.response_time).count(),
             {{"name", upstream.name}});
}

}  // namespace

std::string stats_metrics(const Overview& all) {
  Collection into;
  collect_requests(into, all);
  collect_queue(into, all.forward);
  for (const tracker::UpstreamInsight& upstream : all.forward.upstreams)
    collect_upstream(into, upstream);
  return into.text();
}

}  // namespace sluice::cli
