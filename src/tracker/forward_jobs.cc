// SPDX-License-Identifier: MIT
// Jobs begin, wait and end.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "tracker/forward_core.h"

namespace sluice::tracker {

JobId ForwardCore::job_of(std::uint32_t peer, UpstreamId upstream) {
  const JobId there = peers_[peer].jobs[upstream];
  if (there != kNobody) return there;
  const JobId id = jobs_.add(peers_[peer].torrent, peer, upstream);
  peers_[peer].jobs[upstream] = id;
  ++peers_[peer].jobs_count;
  ++sites_[upstream].jobs_count;
  return id;
}

void ForwardCore::begin(JobId id, JobPriority priority, MonoTime timed) {
  Job& job = jobs_[id];
  SLUICE_CHECK(job.state == JobState::idle);
  timers_.cancel(job.timer);
  job.timer = {};
  job.attempts = 0;
  job.priority = priority;
  job.timed = timed;
  ++counts_.created;
  submit(id);
}

void ForwardCore::begin_event(JobId id, Event event) {
  jobs_[id].event = event;
  begin(id, JobPriority::event);
}

void ForwardCore::submit(JobId id) {
  if (upstream_of(jobs_[id]).blocked(now()) || share_left(jobs_[id].upstream) == 0) return park(id);
  if (queue_.full() && !make_room(jobs_[id])) return overflow(id, DropReason::full);
  queue_.push(id);
  join_ring(jobs_[id].upstream);
  arm_scale();
}

bool ForwardCore::make_room(const Job& job) {
  if (stopping_) return true;  // There will be no more of them than peers that are known.
  if (options_.refuse_when_full && job.priority != JobPriority::event) return false;
  const JobId least = queue_.least();
  if (jobs_[least].priority <= job.priority) return false;
  queue_.remove(least);
  overflow(least, DropReason::displaced);
  return true;
}

/// Nobody would make a retry or an event again: they come later.
void ForwardCore::overflow(JobId id, DropReason reason) {
  const JobPriority priority = jobs_[id].priority;
  if (priority == JobPriority::retry || priority == JobPriority::event)
    return schedule(id, now() + options_.full_delay);
  drop(id, reason);
}

void ForwardCore::schedule(JobId id, MonoTime due) {
  jobs_.set_state(id, JobState::scheduled);
  jobs_[id].due = due;
  set_job_timer(id, due);
}

void ForwardCore::set_job_timer(JobId id, MonoTime due) {
  if (!timers_.reschedule(jobs_[id].timer, due))
    jobs_[id].timer = timers_.add(due, {.wake = Wake::job, .id = id});
}

void ForwardCore::park(JobId id) {
  Job& job = jobs_[id];
  MonoTime until = upstream_of(job).blocked_until();
  // One that leaves takes the next when it has answered; that it does not is noticed later.
  if (sites_[job.upstream].leaving) until = std::max(until, now() + options_.full_delay);
  if (job.priority != JobPriority::event) job.priority = JobPriority::retry;
  job.due = until;
  job.timed = {};  // From here on it waits for its upstream.
  job.parked = true;
  jobs_.set_state(id, JobState::scheduled);
  sites_[job.upstream].parked.push_back(jobs_.all(), id);
  set_site_timer(job.upstream, until);
}

void ForwardCore::park_queued(UpstreamId upstream) {
  for (JobId id = queue_.first(upstream); id != kNobody; id = queue_.first(upstream)) {
    queue_.remove(id);
    park(id);
  }
}

/// Of an upstream that leaves few are queued at a time, so that the others have their room.
std::size_t ForwardCore::share_left(UpstreamId upstream) const {
  const Site& site = sites_[upstream];
  if (!site.leaving) return SIZE_MAX;
  const std::size_t taken = queue_.count(upstream) + site.upstream->in_flight();
  return taken < options_.in_flight_max ? options_.in_flight_max - taken : 0;
}

/// All that wait for the upstream; one, if it must prove itself.
void ForwardCore::unpark(UpstreamId upstream) {
  const JobLine& parked = sites_[upstream].parked;
  const std::size_t most = sites_[upstream].upstream->must_prove() ? 1 : share_left(upstream);
  for (std::size_t left = std::min(most, parked.size()); left > 0; --left) {
    const JobId id = parked.first();
    withdraw(id);
    submit(id);
  }
}

/// An upstream that stays dead forgets its peers by itself; they are not kept for it.
void ForwardCore::drop_parked_stops(UpstreamId upstream) {
  const JobLine& parked = sites_[upstream].parked;
  for (JobId id = parked.first(); id != kNobody;) {
    const JobId after = jobs_[id].line.after;
    if (jobs_[id].event == Event::stopped) {
      withdraw(id);
      drop(id, DropReason::blocked);
    }
    id = after;
  }
}

/// Out of the queue or the schedule.
void ForwardCore::withdraw(JobId id) {
  Job& job = jobs_[id];
  if (job.state == JobState::queued) return queue_.remove(id);
  SLUICE_CHECK(job.state == JobState::scheduled);
  if (job.parked) sites_[job.upstream].parked.remove(jobs_.all(), id);
  job.parked = false;
  timers_.cancel(job.timer);
  job.timer = {};
  if (pair_of(job).retry == id) pair_of(job).retry = kNobody;
  jobs_.set_state(id, JobState::idle);
}

/// It is idle then, and still has to rest() or be forgotten.
void ForwardCore::cancel(JobId id) {
  Job& job = jobs_[id];
  if (job.state == JobState::idle) return;
  if (const auto run = running_.find(id); run != running_.end()) {
    upstream_of(job).give_up(std::move(run->second.call));
    running_.erase(run);
    jobs_.set_state(id, JobState::idle);
  } else {
    withdraw(id);
  }
  job.event = Event::none;
  job.next_event = Event::none;
  ++counts_.cancelled;
}

/// A queued job of a torrent whose upstream wants to hear nothing: another one waits for that.
void ForwardCore::hold_back(JobId id) {
  const Event event = jobs_[id].event;
  cancel(id);
  jobs_[id].due = pair_of(jobs_[id]).not_before + options_.refusal.base;
  const bool stays = !parts(jobs_[id]);
  rest(id);
  if (stays) jobs_[id].event = event;
}

void ForwardCore::drop(JobId id, DropReason reason) {
  Job& job = jobs_[id];
  ++counts_.dropped[static_cast<std::size_t>(reason)];
  // Whoever hears of a full queue comes again by itself.
  const bool by_timer = job.known || !options_.refuse_when_full;
  job.due = by_timer ? now() + options_.full_delay : MonoTime{};
  rest(id);
}

/// An idle job waits for its next announce, or says that the peer has left, or is forgotten.
void ForwardCore::rest(JobId id) {
  Job& job = jobs_[id];
  if (parts(job)) {
    if (job.event == Event::stopped || !wants_to_hear(job)) return forget_job(id);
    return begin_event(id, Event::stopped);
  }
  job.event = Event::none;
  const bool keeps = !hash_mode() || pair_of(job).keeper == id;
  if (!keeps || upstream_of(job).disabled() || job.due == MonoTime{}) return;
  // While the upstream was disabled it was not due.
  job.due = std::max(job.due, now());
  set_job_timer(id, job.due);
}

bool ForwardCore::wants_to_hear(const Job& job) const {
  return job.known && !sites_[job.upstream].upstream->disabled() &&
         pair_of(job).not_before <= now();
}

void ForwardCore::forget_job(JobId id) {
  const std::uint32_t peer = jobs_[id].peer;
  Site& site = sites_[jobs_[id].upstream];
  Pair& pair = pair_of(jobs_[id]);
  if (pair.keeper == id) {
    pair.keeper = kNobody;
    pair.next = {};  // Another peer may take over.
  }
  timers_.cancel(jobs_[id].timer);
  peers_[peer].jobs[jobs_[id].upstream] = kNobody;
  jobs_.erase(id);
  // Whoever calls may not be done with the upstream.
  if (--site.jobs_count == 0) timers_.reschedule(site.farewell, now());
  if (--peers_[peer].jobs_count == 0 && peers_[peer].left) forget_peer(peer);
}

void ForwardCore::forget_peer(std::uint32_t peer) {
  const std::uint32_t torrent = peers_[peer].torrent;
  torrents_[torrent].peers.erase(peers_[peer].last.peer);
  peers_[peer] = {};
  free_peers_.push_back(peer);
  try_to_forget_torrent(torrent);
}

void ForwardCore::try_to_forget_torrent(std::uint32_t torrent) {
  Torrent& at = torrents_[torrent];
  if (!at.peers.empty() || at.waits) return;
  MonoTime until = {};
  for (const Pair& pair : at.pairs) until = std::max(until, pair.not_before);
  if (until > now()) {
    at.waits = true;
    timers_.add(until, {.wake = Wake::torrent, .id = torrent});
    return;
  }
  torrent_ids_.erase(at.hash);
  tracker_ids_.erase(tracker_ids_.lower_bound({torrent, 0}),
                     tracker_ids_.upper_bound({torrent, kNobody}));
  at = {};
  free_torrents_.push_back(torrent);
}

}  // namespace sluice::tracker
