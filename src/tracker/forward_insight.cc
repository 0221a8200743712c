// SPDX-License-Identifier: MIT
#include "tracker/forward_insight.h"

#include <fmt/format.h>

#include <algorithm>

#include "tracker/forward_core.h"

namespace sluice::tracker {

const char* drop_reason_name(DropReason reason) {
  switch (reason) {
    case DropReason::full:
      return "full";
    case DropReason::displaced:
      return "displaced";
    case DropReason::blocked:
      return "blocked";
  }
  return "unknown";
}

ForwardInsight ForwardCore::insight() const {
  ForwardInsight view{.depth = queue_.depth(),
                      .capacity = queue_.capacity(),
                      .fill_pct = queue_.fill_pct(),
                      .slots = slots_,
                      .slots_max = slots_max_,
                      .queued = jobs_.count(JobState::queued),
                      .scheduled = jobs_.count(JobState::scheduled),
                      .running = jobs_.count(JobState::running),
                      .pending = jobs_.pending(),
                      .jobs = counts_,
                      .lateness_ns = lateness_ns_,
                      .rate_limited = rate_limited_,
                      .throttled = throttled_,
                      .local_peers = peers_.size() - free_peers_.size(),
                      .torrents = torrent_ids_.size()};
  view.dropped_full = refused_full_ + counts_.dropped[static_cast<std::size_t>(DropReason::full)] +
                      counts_.dropped[static_cast<std::size_t>(DropReason::displaced)];
  list_scheduled(view);
  list_upstreams(view);
  return view;
}

void ForwardCore::list_scheduled(ForwardInsight& view) const {
  std::vector<const Job*> waiting;
  for (const Job& job : jobs_.all())
    if (job.upstream != kNobody && job.state == JobState::scheduled) waiting.push_back(&job);
  const std::size_t count = std::min(waiting.size(), kScheduledListed);
  std::ranges::partial_sort(waiting, waiting.begin() + static_cast<std::ptrdiff_t>(count), {},
                            [](const Job* job) { return job->due; });
  for (std::size_t i = 0; i < count; ++i)
    view.next.push_back({.hash = torrents_[waiting[i]->torrent].hash,
                         .peer = peers_[waiting[i]->peer].last.peer,
                         .upstream = sites_[waiting[i]->upstream].upstream->config()->name,
                         .time_to_run = std::max(waiting[i]->due - now(), Duration{})});
}

void ForwardCore::list_upstreams(ForwardInsight& view) const {
  const MonoTime at = now();
  for (const Site& site : sites_) {
    if (!site.upstream) continue;
    const Upstream& upstream = *site.upstream;
    view.upstreams.push_back({.name = upstream.config()->name,
                              .uri = upstream.config()->uri,
                              .state = site.leaving ? UpstreamState::leaving : upstream.state(at),
                              .reason = site.leaving ? "removed" : upstream.reason(at),
                              .next_try = std::max(upstream.blocked_until() - at, Duration{}),
                              .response_time = upstream.response_time(),
                              .response_ns = upstream.response_ns(),
                              .in_flight = upstream.in_flight(),
                              .counts = upstream.counts()});
  }
}

Status ForwardCore::verify() const {
  std::array<std::size_t, kJobStates> states = {};
  std::size_t parked = 0;
  std::vector<std::size_t> by_site(sites_.size());
  for (const Job& job : jobs_.all()) {
    if (job.upstream == kNobody) continue;
    ++states[static_cast<std::size_t>(job.state)];
    ++by_site[job.upstream];
    parked += job.parked ? 1 : 0;
  }
  std::size_t in_flight = 0;
  bool balanced = true;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const Site& site = sites_[i];
    parked -= site.parked.size();
    balanced = balanced && site.jobs_count == by_site[i];
    if (!site.upstream) continue;
    const std::size_t waits = site.upstream->in_flight();
    in_flight += waits;
    balanced = balanced && site.upstream->counts().sent == site.upstream->counts().ended() + waits;
  }
  const std::uint64_t ended =
      counts_.succeeded + counts_.failed + counts_.cancelled + counts_.dropped_total();
  const auto wrong = [](const char* what) { return error(Code::corrupt, what); };
  if (states[1] != queue_.depth()) return wrong("the queue holds other jobs than are queued");
  if (states[3] != running_.size()) return wrong("other jobs run than are in the table");
  if (in_flight != running_.size()) return wrong("upstreams count other requests than run");
  if (!balanced) return wrong("an upstream has other jobs, or was sent others, than it counts");
  if (parked != 0) return wrong("upstreams hold other jobs than are parked");
  if (states[1] + states[2] + states[3] != jobs_.pending())
    return wrong("the pending jobs are not those queued, scheduled and running");
  if (counts_.created != ended + jobs_.pending())
    return error(Code::corrupt, fmt::format("{} jobs were created, {} ended and {} are pending",
                                            counts_.created, ended, jobs_.pending()));
  return {};
}

}  // namespace sluice::tracker
