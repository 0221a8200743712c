// SPDX-License-Identifier: MIT
// Local peers come, tell and leave.
#include <algorithm>
#include <utility>

#include "tracker/forward_core.h"

namespace sluice::tracker {

std::optional<ForwardRefusal> ForwardCore::announce(const Announce& announce, HashSeen seen) {
  if (announce.event == Event::stopped) {
    if (const auto peer = find_peer(announce.hash, announce.peer)) {
      if (!peers_[*peer].left) peers_[*peer].last = announce;
      leave(*peer);
    }
    return std::nullopt;
  }
  if (stopping_ || order_.empty()) return std::nullopt;
  if (const auto refusal = gate(seen)) return refusal;
  const std::uint32_t peer = welcome(announce);
  if (announce.event == Event::completed) tell_completed(peer);
  select_upstreams(peer);
  return std::nullopt;
}

std::optional<ForwardRefusal> ForwardCore::gate(HashSeen seen) {
  if (!options_.refuse_when_full || seen != HashSeen::first) return std::nullopt;
  if (queue_.fill_pct() >= options_.refuse_pct) {
    const BucketTake taken = take(options_.first_rate, first_bucket_, now().time_since_epoch(), 1);
    if (!taken.taken) {
      ++rate_limited_;
      return ForwardRefusal{.why = "too many new torrents at this moment",
                            .retry_in = options_.retry_period};
    }
    first_bucket_ = taken.state;
  }
  if (!queue_.full()) return std::nullopt;
  ++refused_full_;
  return ForwardRefusal{.why = "too many announces at this moment",
                        .retry_in = options_.retry_period};
}

std::optional<std::uint32_t> ForwardCore::find_peer(const InfoHash& hash,
                                                    const PeerId& peer) const {
  const auto torrent = torrent_ids_.find(hash);
  if (torrent == torrent_ids_.end()) return std::nullopt;
  const auto& peers = torrents_[torrent->second].peers;
  const auto found = peers.find(peer);
  if (found == peers.end()) return std::nullopt;
  return found->second;
}

std::uint32_t ForwardCore::welcome(const Announce& announce) {
  const auto [torrent, is_new] = torrent_ids_.try_emplace(announce.hash, 0);
  if (is_new) torrent->second = take_place(torrents_, free_torrents_);
  Torrent& at = torrents_[torrent->second];
  at.hash = announce.hash;
  at.pairs.resize(std::max(at.pairs.size(), sites_.size()));
  const auto [entry, is_new_peer] = at.peers.try_emplace(announce.peer, 0);
  if (is_new_peer) entry->second = take_place(peers_, free_peers_);
  const std::uint32_t id = entry->second;
  LocalPeer& peer = peers_[id];
  peer.torrent = torrent->second;
  peer.jobs.resize(std::max(peer.jobs.size(), sites_.size()), kNobody);
  peer.last = announce;
  if (peer.left) come_back(id);
  return id;
}

/// What says that it has left need not be said. What says so at this moment is made good when it
/// is answered.
void ForwardCore::come_back(std::uint32_t peer) {
  peers_[peer].left = false;
  for (const JobId id : peers_[peer].jobs) {
    if (id == kNobody || jobs_[id].state == JobState::running || parts(jobs_[id])) continue;
    cancel(id);
    rest(id);
  }
}

void ForwardCore::select_upstreams(std::uint32_t peer) {
  const bool throttles = options_.throttle_top_n > 0 && queue_.fill_pct() >= options_.throttle_pct;
  const std::uint32_t all = options_.upstreams_per_announce_max;
  const std::uint32_t most = throttles ? std::min(all, options_.throttle_top_n) : all;
  const MonoTime at = now();
  std::vector<UpstreamId> due;
  for (const UpstreamId id : order_) {
    if (eligible(id, peer, at))
      due.push_back(id);
    else
      tell_later(id, peer, at);
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (i == most) {
      throttled_ += throttles && most < all ? 1 : 0;
      return;
    }
    std::swap(due[i], due[i + random_.below(due.size() - i)]);
    const JobId id = job_of(peer, due[i]);
    begin(id, jobs_[id].known ? JobPriority::refresh : JobPriority::first);
    // Dropped: there is no room for the others either.
    if (jobs_[id].state == JobState::idle) return;
  }
}

bool ForwardCore::eligible(UpstreamId upstream, std::uint32_t peer, MonoTime at) const {
  const Upstream& asked = *sites_[upstream].upstream;
  if (asked.disabled() || asked.suspended(at)) return false;
  const Pair& pair = torrents_[peers_[peer].torrent].pairs[upstream];
  if (pair.not_before > at || pair.next > at) return false;
  const JobId id = peers_[peer].jobs[upstream];
  if (id == kNobody) return true;
  return jobs_[id].due <= at && jobs_[id].state == JobState::idle;
}

/// An upstream that is to be left alone now, and has not heard of the peer yet, does so afterwards:
/// the client may come back in half an hour only.
void ForwardCore::tell_later(UpstreamId upstream, std::uint32_t peer, MonoTime at) {
  const Upstream& asked = *sites_[upstream].upstream;
  if (asked.disabled() || !asked.blocked(at) || peers_[peer].jobs[upstream] != kNobody) return;
  if (hash_mode() || options_.refuse_when_full) return;
  const JobId id = job_of(peer, upstream);
  jobs_[id].due = asked.blocked_until();
  rest(id);
}

/// Whoever knows the peer hears of it at once. What waits or runs carries it when it comes to that.
void ForwardCore::tell_completed(std::uint32_t peer) {
  for (const JobId id : peers_[peer].jobs) {
    if (id == kNobody || parts(jobs_[id])) continue;
    Job& job = jobs_[id];
    if (job.state == JobState::running) job.next_event = Event::completed;
    if (!job.known || upstream_of(job).disabled()) continue;
    switch (job.state) {
      case JobState::running:
        break;
      case JobState::scheduled:
        job.event = Event::completed;
        break;
      case JobState::queued:
        queue_.remove(id);
        job.event = Event::completed;
        job.priority = JobPriority::event;
        queue_.push(id);
        break;
      case JobState::idle:
        if (wants_to_hear(job))
          begin_event(id, Event::completed);
        else
          job.event = Event::completed;
        break;
    }
  }
}

PeerList ForwardCore::peers_of(const InfoHash& hash, std::size_t wanted) {
  return found_.pick(hash, wanted, random_);
}

bool ForwardCore::is_asked_about(const InfoHash& hash) const {
  const auto torrent = torrent_ids_.find(hash);
  return torrent != torrent_ids_.end() && jobs_.is_asked_about(torrent->second);
}

std::vector<InfoHash> ForwardCore::take_quiet() {
  std::vector<InfoHash> quiet;
  for (const std::uint32_t torrent : jobs_.take_quiet())
    // One without peers may be forgotten by now, and nobody waits for it.
    if (!jobs_.is_asked_about(torrent) && !torrents_[torrent].peers.empty())
      quiet.push_back(torrents_[torrent].hash);
  return quiet;
}

void ForwardCore::peer_gone(const InfoHash& hash, const PeerId& peer) {
  if (const auto found = find_peer(hash, peer)) leave(*found);
}

void ForwardCore::leave(std::uint32_t peer) {
  if (peers_[peer].left) return;
  peers_[peer].left = true;
  ++peers_[peer].jobs_count;  // Held until all have been gone through.
  const std::vector<JobId>& jobs = peers_[peer].jobs;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i] != kNobody) call_off(jobs[i]);
  // Not before: none of them is to be put out of a full queue by another.
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i] != kNobody && jobs_[jobs[i]].state == JobState::idle) rest(jobs[i]);
  if (--peers_[peer].jobs_count == 0) forget_peer(peer);
}

/// It is idle then, or ends with a `stopped`.
void ForwardCore::call_off(JobId id) {
  if (jobs_[id].state == JobState::running)
    jobs_[id].next_event = Event::none;
  else if (jobs_[id].event != Event::stopped)
    cancel(id);
}

}  // namespace sluice::tracker
