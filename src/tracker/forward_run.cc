// SPDX-License-Identifier: MIT
// Time passes, requests start.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "tracker/forward_core.h"

namespace sluice::tracker {

ForwardCore::ForwardCore(const ForwardOptions& options, const Clock& clock, Random& random)
    : options_(options),
      clock_(clock),
      random_(random),
      slots_max_(options.slots_max != 0 ? options.slots_max : 2 * options.slots_base),
      slots_(options.slots_base),
      queue_(jobs_, options.queue_capacity),
      first_bucket_(full_bucket(options.first_rate, clock.mono().time_since_epoch())),
      lateness_ns_(std::make_shared<Histogram>()) {
  SLUICE_CHECK(validate(options).ok());
}

MonoTime ForwardCore::next_due() {
  if (can_start()) return now();
  return std::min(timers_.next_due().value_or(MonoTime::max()),
                  found_.next_expiry().value_or(MonoTime::max()));
}

void ForwardCore::run_timers() {
  const MonoTime at = now();
  found_.expire(at);
  // No room is wanted for what might as well be started.
  while (!(queue_.full() && can_start())) {
    const auto alarm = timers_.pop_due(at);
    if (!alarm) return;
    on_alarm(*alarm);
  }
}

void ForwardCore::on_alarm(Alarm alarm) {
  switch (alarm.wake) {
    case Wake::job:
      return on_job_alarm(alarm.id);
    case Wake::site:
      return on_site_alarm(alarm.id);
    case Wake::farewell:
      return remove_site(alarm.id);
    case Wake::torrent:
      torrents_[alarm.id].waits = false;
      return try_to_forget_torrent(alarm.id);
    case Wake::scale:
      return on_scale_alarm();
    case Wake::end:
      return end_all();
  }
}

void ForwardCore::on_job_alarm(JobId id) {
  Job& job = jobs_[id];
  if (job.state == JobState::scheduled) {
    // A full queue may have put it off before: it is late since then.
    if (job.timed == MonoTime{}) job.timed = job.due;
    withdraw(id);
    return submit(id);
  }
  job.timer = {};
  const Pair& pair = pair_of(job);
  const MonoTime due = std::max(pair.not_before, pair.next);
  if (due > now()) return set_job_timer(id, due);
  begin(id,
        job.event != Event::none ? JobPriority::event
        : job.known              ? JobPriority::refresh
                                 : JobPriority::first,
        std::max(due, job.due));
}

void ForwardCore::on_site_alarm(UpstreamId upstream) {
  Site& site = sites_[upstream];
  site.timer = {};
  site.timer_due = MonoTime::max();
  if (!site.upstream->suspended(now())) unpark(upstream);
  join_ring(upstream);
  // Whoever was let out to try the upstream may be cancelled before it does.
  if (!site.parked.empty())
    set_site_timer(upstream, std::max(site.upstream->blocked_until(), now() + options_.full_delay));
}

void ForwardCore::set_site_timer(UpstreamId upstream, MonoTime due) {
  Site& site = sites_[upstream];
  if (site.timer_due <= due) return;
  site.timer_due = due;
  if (!timers_.reschedule(site.timer, due))
    site.timer = timers_.add(due, {.wake = Wake::site, .id = upstream});
}

void ForwardCore::join_ring(UpstreamId upstream) {
  Site& site = sites_[upstream];
  if (site.in_ring || !queue_.has(upstream)) return;
  site.in_ring = true;
  ring_.push_back(upstream);
}

/// The timer runs only while a look at the fill may change something.
void ForwardCore::arm_scale() {
  const bool grows = queue_.fill_pct() >= options_.scale_up_pct && slots_ < slots_max_;
  if (scaling_ || (!grows && slots_ == options_.slots_base)) return;
  scaling_ = true;
  timers_.add(now() + options_.scale_every, {.wake = Wake::scale, .id = 0});
}

void ForwardCore::on_scale_alarm() {
  scaling_ = false;
  const std::uint64_t fill = queue_.fill_pct();
  if (fill >= options_.scale_up_pct && slots_ < slots_max_) ++slots_;
  if (fill < options_.scale_down_pct && slots_ > options_.slots_base) --slots_;
  arm_scale();
}

std::vector<ForwardCore::Start> ForwardCore::take_starts() {
  std::vector<Start> starts;
  while (can_start()) {
    const UpstreamId upstream = ring_.front();
    ring_.pop_front();
    Site& site = sites_[upstream];
    site.in_ring = false;
    const JobId id = first_startable(upstream);
    if (id == kNobody) continue;
    Upstream::Admission admission = site.upstream->admit(now());
    if (admission.leave == Upstream::Leave::blocked) park_queued(upstream);
    if (admission.leave == Upstream::Leave::at_rate) set_site_timer(upstream, admission.at);
    if (admission.leave != Upstream::Leave::granted) continue;
    queue_.remove(id);
    jobs_.set_state(id, JobState::running);
    measure_lateness(jobs_[id]);
    running_.emplace(id, Running{.serial = ++serial_, .call = std::move(*admission.call)});
    starts.push_back({.ticket = {.job = id, .serial = serial_}, .request = request_of(jobs_[id])});
    join_ring(upstream);
  }
  return starts;
}

/// The upstream may have asked for patience while the job was in line.
JobId ForwardCore::first_startable(UpstreamId upstream) {
  for (;;) {
    const JobId id = queue_.first(upstream);
    if (id == kNobody || pair_of(jobs_[id]).not_before <= now()) return id;
    hold_back(id);
  }
}

void ForwardCore::measure_lateness(Job& job) {
  const MonoTime timed = std::exchange(job.timed, MonoTime{});
  if (timed == MonoTime{}) return;
  const Duration late = std::max(now() - timed, Duration{});
  lateness_ns_->record(static_cast<std::uint64_t>(std::chrono::nanoseconds(late).count()));
}

UpstreamRequest ForwardCore::request_of(const Job& job) const {
  UpstreamRequest request{.upstream = sites_[job.upstream].upstream->config(),
                          .announce = peers_[job.peer].last,
                          .timeout = options_.timeout};
  Announce& announce = request.announce;
  announce.event = job.event;
  if (job.event == Event::none && !job.known) announce.event = Event::started;
  if (job.event == Event::stopped) announce.wanted = 0;
  const auto id = tracker_ids_.find({job.torrent, job.upstream});
  if (id != tracker_ids_.end()) request.tracker_id = id->second;
  return request;
}

}  // namespace sluice::tracker
