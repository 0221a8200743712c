// SPDX-License-Identifier: MIT
#include "retracker/stats.h"

#include <fmt/format.h>

#include <cmath>

#include "codec/json.h"
#include "tracker/hash_list.h"

namespace sluice::cli {
namespace {

using codec::json::Writer;
using tracker::ForwardInsight;
using tracker::UpstreamInsight;

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::int64_t ms_of(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

void write_requests(Writer& writer, const Overview& all) {
  const tracker::ServiceStats& service = all.service;
  writer.name("requests").object();
  writer.name("announces_http").number(service.announces_http);
  writer.name("announces_udp").number(service.announces_udp);
  writer.name("scrapes_http").number(service.scrapes_http);
  writer.name("scrapes_udp").number(service.scrapes_udp);
  writer.name("connects").number(service.connects);
  writer.name("refused").number(service.refused);
  writer.name("bad_ids").number(service.bad_ids);
  writer.name("waited").number(service.waited).end_object();
}

void write_jobs(Writer& writer, const ForwardInsight& forward) {
  writer.name("jobs").object();
  writer.name("created").number(forward.jobs.created);
  writer.name("succeeded").number(forward.jobs.succeeded);
  writer.name("failed").number(forward.jobs.failed);
  writer.name("cancelled").number(forward.jobs.cancelled);
  writer.name("dropped").object();
  for (std::size_t i = 0; i < tracker::kDropReasons; ++i)
    writer.name(drop_reason_name(static_cast<tracker::DropReason>(i)))
        .number(forward.jobs.dropped[i]);
  writer.end_object();
  writer.name("pending").number(forward.pending).end_object();
}

void write_queue(Writer& writer, const ForwardInsight& forward) {
  writer.name("queue").object();
  writer.name("depth").number(forward.depth).name("capacity").number(forward.capacity);
  writer.name("fill_pct").number(forward.fill_pct);
  writer.name("workers").number(forward.slots).name("workers_max").number(forward.slots_max);
  writer.name("queued").number(forward.queued).name("scheduled").number(forward.scheduled);
  writer.name("running").number(forward.running);
  writer.name("dropped_full").number(forward.dropped_full);
  writer.name("rate_limited").number(forward.rate_limited);
  writer.name("throttled").number(forward.throttled);
  writer.name("next").array();
  for (const tracker::ScheduledJob& job : forward.next)
    writer.object()
        .name("info_hash")
        .string(to_hex(job.hash))
        .name("forwarder")
        .string(job.upstream)
        .name("in_ms")
        .number(ms_of(job.time_to_run))
        .end_object();
  writer.end_array().end_object();
}

void write_upstream(Writer& writer, const UpstreamInsight& upstream) {
  writer.object().name("name").string(upstream.name).name("uri").string(upstream.uri);
  writer.name("state").string(upstream_state_name(upstream.state));
  writer.name("reason").string(upstream.reason);
  writer.name("next_try_ms").number(ms_of(upstream.next_try));
  writer.name("response_ms").number(ms_of(upstream.response_time));
  writer.name("in_flight").number(upstream.in_flight);
  writer.name("sent").number(upstream.counts.sent).name("ok").number(upstream.counts.ok);
  writer.name("refused").number(upstream.counts.refused);
  writer.name("busy").number(upstream.counts.busy);
  writer.name("unreachable").number(upstream.counts.unreachable);
  writer.name("given_up").number(upstream.counts.given_up).end_object();
}

/// Why it is not told now, and when it will be.
std::string why(const UpstreamInsight& upstream) {
  if (upstream.next_try == Duration{} || upstream.state == tracker::UpstreamState::disabled)
    return upstream.reason;
  return fmt::format("{} (next try in {:.0f} s)", upstream.reason,
                     std::ceil(seconds_of(upstream.next_try)));
}

std::string upstream_line(const UpstreamInsight& upstream) {
  return fmt::format("{:<32} {:<10} {:>8} {:>8} {:>8} {:>8} {:>6} {:>7}  {}\n", upstream.name,
                     upstream_state_name(upstream.state), upstream.counts.sent, upstream.counts.ok,
                     upstream.counts.refused + upstream.counts.busy, upstream.counts.unreachable,
                     upstream.in_flight, ms_of(upstream.response_time), why(upstream));
}

}  // namespace

std::string stats_json(const Overview& all) {
  Writer writer(codec::json::Layout::pretty);
  writer.object().name("running_s").number(seconds_of(all.running));
  writer.name("torrents").number(all.totals.swarms).name("peers").number(all.totals.peers);
  writer.name("seeders").number(all.totals.seeders);
  writer.name("peers_v6").number(all.totals.peers_v6);
  write_requests(writer, all);
  write_queue(writer, all.forward);
  write_jobs(writer, all.forward);
  writer.name("forwarders").array();
  for (const UpstreamInsight& upstream : all.forward.upstreams) write_upstream(writer, upstream);
  writer.end_array();
  write_tables(writer, all);
  writer.name("config").object();
  for (const Setting& setting : all_settings()) {
    writer.name(setting.name);
    write_value(writer, setting, *all.settings);
  }
  writer.end_object();
  return writer.end_object().take() + "\n";
}

std::string forwarder_json(const UpstreamInsight& upstream) {
  Writer writer(codec::json::Layout::pretty);
  write_upstream(writer, upstream);
  return writer.take() + "\n";
}

std::string stats_text(const Overview& all) {
  const ForwardInsight& forward = all.forward;
  std::string text = fmt::format(
      "running {:.0f} s\n\n"
      "torrents {}   peers {}   seeders {}   of IPv6 {}\n"
      "announces {} HTTP, {} UDP   scrapes {} HTTP, {} UDP   refused {}   bad connection ids {}\n",
      seconds_of(all.running), all.totals.swarms, all.totals.peers, all.totals.seeders,
      all.totals.peers_v6, all.service.announces_http, all.service.announces_udp,
      all.service.scrapes_http, all.service.scrapes_udp, all.service.refused, all.service.bad_ids);
  text += fmt::format(
      "\nqueue {} of {} ({} %)   workers {} of {}   scheduled {}   running {}\n"
      "jobs created {} = succeeded {} + failed {} + dropped {} + cancelled {} + pending {}\n"
      "dropped by a full queue {}   rate limited {}   throttled {}\n\n",
      forward.depth, forward.capacity, forward.fill_pct, forward.slots, forward.slots_max,
      forward.scheduled, forward.running, forward.jobs.created, forward.jobs.succeeded,
      forward.jobs.failed, forward.jobs.dropped_total(), forward.jobs.cancelled, forward.pending,
      forward.dropped_full, forward.rate_limited, forward.throttled);
  text += fmt::format("{:<32} {:<10} {:>8} {:>8} {:>8} {:>8} {:>6} {:>7}  {}\n", "FORWARDER",
                      "STATE", "SENT", "OK", "REFUSED", "FAILED", "NOW", "MS", "REASON");
  for (const UpstreamInsight& upstream : forward.upstreams) text += upstream_line(upstream);
  if (!forward.next.empty()) text += "\nnext:\n";
  for (const tracker::ScheduledJob& job : forward.next)
    text += fmt::format("{}  {:<32} in {:.1f} s\n", to_hex(job.hash), job.upstream,
                        seconds_of(job.time_to_run));
  return text + tables_text(all);
}

}  // namespace sluice::cli
