// SPDX-License-Identifier: MIT
// Upstreams come and go.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tracker/forward_core.h"

namespace sluice::tracker {

std::optional<UpstreamId> ForwardCore::find_site(std::string_view name) const {
  for (const UpstreamId id : order_)
    if (sites_[id].upstream->config()->name == name) return id;
  return std::nullopt;
}

void ForwardCore::reload(const std::vector<UpstreamConfig>& upstreams) {
  const std::vector<UpstreamId> before = order_;
  std::vector<UpstreamId> stay;
  for (const UpstreamConfig& config : upstreams) {
    const auto id = find_site(config.name);
    if (!id) {
      add_site(config);
      continue;
    }
    stay.push_back(*id);
    // What one tracker said is no business of another.
    if (sites_[*id].upstream->config()->uri != config.uri) forget_tracker_ids(*id);
    sites_[*id].upstream->set_config(config);
    if (sites_[*id].upstream->disabled()) enable_site(*id);
  }
  for (const UpstreamId id : before)
    if (!std::ranges::count(stay, id)) remove_site(id);
  if (order_.empty()) leave_all();
}

void ForwardCore::add_site(const UpstreamConfig& config) {
  const auto free = std::ranges::find_if(sites_, [](const Site& site) { return !site.upstream; });
  const auto id = static_cast<UpstreamId>(free - sites_.begin());
  if (free == sites_.end()) sites_.emplace_back();
  sites_[id].upstream = std::make_unique<Upstream>(config, options_, clock_, random_);
  order_.push_back(id);
}

void ForwardCore::remove_site(UpstreamId upstream) {
  sites_[upstream].upstream->disable("removed");
  cancel_jobs(upstream);
  for (std::size_t i = 0; i < jobs_.all().size(); ++i)
    if (jobs_.all()[i].upstream == upstream) forget_job(static_cast<JobId>(i));
  for (Torrent& torrent : torrents_)
    if (upstream < torrent.pairs.size()) torrent.pairs[upstream] = {};
  found_.forget_upstream(upstream);
  forget_tracker_ids(upstream);
  timers_.cancel(sites_[upstream].timer);
  std::erase(order_, upstream);
  std::erase(ring_, upstream);
  sites_[upstream] = {};
}

void ForwardCore::forget_tracker_ids(UpstreamId upstream) {
  std::erase_if(tracker_ids_, [&](const auto& one) { return one.first.second == upstream; });
}

/// What is pending for it ends, whoever has left is forgotten.
void ForwardCore::cancel_jobs(UpstreamId upstream) {
  for (std::size_t i = 0; i < jobs_.all().size(); ++i) {
    const auto id = static_cast<JobId>(i);
    if (jobs_[id].upstream != upstream) continue;
    cancel(id);
    timers_.cancel(jobs_[id].timer);
    jobs_[id].timer = {};
    if (peers_[jobs_[id].peer].left) forget_job(id);
  }
}

bool ForwardCore::disable(std::string_view name, std::string reason) {
  const auto id = find_site(name);
  if (!id) return false;
  sites_[*id].upstream->disable(std::move(reason));
  cancel_jobs(*id);
  return true;
}

bool ForwardCore::enable(std::string_view name) {
  const auto id = find_site(name);
  if (!id) return false;
  if (sites_[*id].upstream->disabled()) enable_site(*id);
  return true;
}

/// Whoever it knew is told to it again when that is due.
void ForwardCore::enable_site(UpstreamId upstream) {
  sites_[upstream].upstream->enable();
  for (std::size_t i = 0; i < jobs_.all().size(); ++i)
    if (jobs_.all()[i].upstream == upstream) rest(static_cast<JobId>(i));
}

void ForwardCore::stop_all(Duration limit) {
  if (std::exchange(stopping_, true)) return;
  timers_.add(now() + limit, {.wake = Wake::end, .id = 0});
  leave_all();
}

void ForwardCore::leave_all() {
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].torrent != kNobody) leave(static_cast<std::uint32_t>(i));
}

void ForwardCore::end_all() {
  for (const UpstreamId id : order_) {
    sites_[id].upstream->disable("shut down");
    cancel_jobs(id);
  }
}

}  // namespace sluice::tracker
