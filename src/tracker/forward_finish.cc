// SPDX-License-Identifier: MIT
// Answers come.
#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "tracker/forward_core.h"

namespace sluice::tracker {
namespace {

void count_up(std::uint8_t& count) {
  if (count < std::numeric_limits<std::uint8_t>::max()) ++count;
}

}  // namespace

std::optional<InfoHash> ForwardCore::finish(Ticket ticket, UpstreamResult result) {
  const auto run = running_.find(ticket.job);
  if (run == running_.end() || run->second.serial != ticket.serial) return std::nullopt;
  const JobId id = ticket.job;
  const UpstreamId at = jobs_[id].upstream;
  const InfoHash hash = torrents_[jobs_[id].torrent].hash;
  Upstream& upstream = *sites_[at].upstream;
  const bool had_to_prove = upstream.must_prove();
  const bool was_probe = run->second.call.is_probe;
  upstream.answered(std::move(run->second.call), result, now());
  running_.erase(run);
  jobs_.set_state(id, JobState::idle);

  if (upstream.blocked(now())) park_queued(at);
  if (was_probe && upstream.blocked(now())) drop_parked_stops(at);
  if (had_to_prove && !upstream.must_prove() && !upstream.blocked(now())) unpark(at);
  const bool has_peers = result.outcome == UpstreamOutcome::ok && result.peers.size() > 0 &&
                         jobs_[id].event != Event::stopped && !sites_[at].leaving;
  switch (result.outcome) {
    case UpstreamOutcome::ok:
      finish_ok(id, result);
      break;
    case UpstreamOutcome::refused:
      finish_refused(id, result);
      break;
    case UpstreamOutcome::busy:
    case UpstreamOutcome::unreachable:
      finish_later(id);
      break;
  }
  if (sites_[at].leaving && !upstream.suspended(now())) unpark(at);
  join_ring(at);
  return has_peers ? std::optional(hash) : std::nullopt;
}

void ForwardCore::finish_ok(JobId id, const UpstreamResult& result) {
  Job& job = jobs_[id];
  Pair& pair = pair_of(job);
  ++counts_.succeeded;
  job.failures = 0;
  pair.refusals = 0;
  job.known = job.event != Event::stopped;
  // One that is not said again stays what it was.
  if (!result.tracker_id.empty())
    tracker_ids_.insert_or_assign({job.torrent, job.upstream}, result.tracker_id);
  if (job.known) {
    const Duration interval = std::max(result.interval.value_or(options_.interval_default),
                                       result.min_interval.value_or(Duration{}));
    job.due = now() + spread(interval);
    pair.next = hash_mode() ? job.due : MonoTime{};
    pair.keeper = hash_mode() ? id : kNobody;
    if (!sites_[job.upstream].leaving)
      found_.put({.hash = torrents_[job.torrent].hash,
                  .upstream = job.upstream,
                  .peers = result.peers,
                  .expires = now() + options_.peers_age,
                  .peers_max = options_.peers_max});
  }
  after_answer(id);
}

void ForwardCore::finish_refused(JobId id, const UpstreamResult& result) {
  Job& job = jobs_[id];
  Pair& pair = pair_of(job);
  if (result.retry_in && result.retry_in->never) {
    const UpstreamId upstream = job.upstream;
    sites_[upstream].upstream->disable(result.reason, Upstream::DisabledBy::itself);
    finish_failed(id, now());
    cancel_jobs(upstream);
    return;
  }
  if (result.retry_in && result.retry_in->after > std::chrono::minutes(0)) {
    const std::chrono::minutes after = result.retry_in->after;
    pair.not_before = now() + std::min<Duration>(after, options_.interval_max);
    if (after < kRetryMax) return wait_as_asked(id, pair.not_before);
    return finish_failed(id, pair.not_before);
  }
  count_up(pair.refusals);
  pair.next = now() + backoff_delay(options_.refusal, pair.refusals, random_.unit());
  finish_failed(id, pair.next);
}

/// One job of the torrent comes again when the upstream said so; another that is told the same
/// meanwhile lets that one go first.
void ForwardCore::wait_as_asked(JobId id, MonoTime due) {
  Job& job = jobs_[id];
  Pair& pair = pair_of(job);
  if (job.event == Event::stopped || parts(job)) return finish_failed(id, due);
  if (pair.retry != kNobody) return finish_failed(id, due + options_.refusal.base);
  pair.retry = id;
  job.attempts = 0;
  wait_again(id);
  schedule(id, due);
}

void ForwardCore::finish_later(JobId id) {
  Job& job = jobs_[id];
  count_up(job.attempts);
  // The peer has left meanwhile, or come back.
  const bool in_vain = parts(job) != (job.event == Event::stopped);
  if (job.attempts >= options_.attempts_max || in_vain) {
    count_up(job.failures);
    return finish_failed(id, now() + backoff_delay(options_.refusal, job.failures, random_.unit()));
  }
  wait_again(id);
  if (upstream_of(job).blocked(now())) return park(id);
  schedule(id, now() + backoff_delay(options_.retry, job.attempts, random_.unit()));
}

/// The same job, with what has happened since it was sent.
void ForwardCore::wait_again(JobId id) {
  Job& job = jobs_[id];
  const Event next = std::exchange(job.next_event, Event::none);
  if (next != Event::none && job.known) job.event = next;
  job.priority = job.event == Event::none ? JobPriority::retry : JobPriority::event;
}

void ForwardCore::finish_failed(JobId id, MonoTime due) {
  ++counts_.failed;
  jobs_[id].due = due;
  after_answer(id);
}

void ForwardCore::after_answer(JobId id) {
  Job& job = jobs_[id];
  const Event next = std::exchange(job.next_event, Event::none);
  if (parts(job)) return rest(id);
  if (job.event == Event::stopped) {
    // The peer came back while this was said.
    job.event = Event::none;
    job.known = false;
    job.due = {};
    if (!upstream_of(job).disabled()) begin(id, JobPriority::first);
    return;
  }
  job.event = Event::none;
  if (next != Event::none && wants_to_hear(job)) return begin_event(id, next);
  rest(id);
}

/// The interval that an upstream names, within reason, and spread by chance.
Duration ForwardCore::spread(Duration named) {
  const Duration interval = std::clamp(named, options_.interval_min, options_.interval_max);
  const double share = options_.interval_jitter * random_.unit();
  return interval + std::chrono::duration_cast<Duration>(interval * share);
}

}  // namespace sluice::tracker
