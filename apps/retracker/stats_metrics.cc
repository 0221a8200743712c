// SPDX-License-Identifier: MIT
#include <utility>

#include "retracker/stats.h"
#include "runtime/collect.h"

namespace sluice::cli {
namespace {

using runtime::Collection;

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
  const std::string answer = "retracker_announce_seconds";
  const std::string help = "From a local announce to its answer, with the wait for upstreams.";
  into.seconds(answer, help, all.times->http, {{"protocol", "http"}});
  into.seconds(answer, help, all.times->udp, {{"protocol", "udp"}});
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
  const std::pair<const char*, std::size_t> states[] = {
      {"queued", forward.queued}, {"scheduled", forward.scheduled}, {"running", forward.running}};
  for (const auto& [state, count] : states)
    into.gauge("retracker_jobs", "Jobs that are pending.", count, {{"state", state}});
  into.seconds("retracker_schedule_lateness_seconds",
               "How long after their time the jobs that the clock begins were sent.",
               *forward.lateness_ns);
  const std::string jobs = "retracker_jobs_total";
  const std::string help = "Jobs that have ended, by how.";
  into.counter("retracker_jobs_created_total", "Jobs: those that have ended and the pending ones.",
               forward.jobs.created);
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
      {"unreachable", upstream.counts.unreachable},
      {"given_up", upstream.counts.given_up}};
  for (const auto& [status, count] : ends)
    into.counter("forwarder_status", "Announces to a forwarder by how they ended.", count,
                 {{"name", upstream.name}, {"status", status}});
  into.counter("retracker_forwarder_sent_total", "Announces to a forwarder.", upstream.counts.sent,
               {{"name", upstream.name}});
  into.gauge("retracker_forwarder_in_flight", "Announces that wait for an answer.",
             upstream.in_flight, {{"name", upstream.name}});
  into.gauge("retracker_forwarder_state", "1 for the state that the forwarder is in.", 1,
             {{"name", upstream.name}, {"state", upstream_state_name(upstream.state)}});
  if (upstream.response_ns)
    into.seconds("retracker_forwarder_response_seconds", "From an announce to its answer.",
                 *upstream.response_ns, {{"name", upstream.name}});
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
