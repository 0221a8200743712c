// SPDX-License-Identifier: MIT
// Upstreams come and go.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "tracker/forward_core.h"

namespace sluice::tracker {

std::optional<UpstreamId> ForwardCore::find_site(std::string_view name) const {
  for (const UpstreamId id : order_)
    if (sites_[id].upstream->config()->name == name) return id;
  return std::nullopt;
}

/// A tracker is what its uri says: under another name it stays, under another uri it is another.
void ForwardCore::reload(const std::vector<UpstreamConfig>& upstreams) {
  std::multimap<std::string, UpstreamId> there;  // By uri.
  for (const std::vector<UpstreamId>& some : {order_, leaving_})
    for (const UpstreamId id : some) there.emplace(sites_[id].upstream->config()->uri, id);
  std::vector<const UpstreamConfig*> others;
  for (const UpstreamConfig& config : upstreams) {
    const auto [first, last] = there.equal_range(config.uri);
    const auto same = std::find_if(first, last, [&](const auto& one) {
      return sites_[one.second].upstream->config()->name == config.name;
    });
    if (same != last)
      keep_site(there.extract(same).mapped(), config);
    else
      others.push_back(&config);
  }
  for (const UpstreamConfig* config : others) {
    if (const auto renamed = there.find(config->uri); renamed != there.end())
      keep_site(there.extract(renamed).mapped(), *config);
    else
      add_site(*config);
  }
  std::set<std::string_view> uris;
  for (const UpstreamConfig& config : upstreams) uris.insert(config.uri);
  for (const auto& [uri, id] : there) {
    // A tracker that is told by another entry keeps the peers.
    if (uris.contains(uri)) {
      remove_site(id);
      continue;
    }
    give_name_up(id);
    if (!sites_[id].leaving) see_off(id);
  }
  if (order_.empty()) leave_all();
}

void ForwardCore::keep_site(UpstreamId upstream, const UpstreamConfig& config) {
  Upstream& kept = *sites_[upstream].upstream;
  kept.set_config(config);
  if (sites_[upstream].leaving) return_site(upstream);
  if (kept.disabled() && !kept.disabled_by_hand()) enable_site(upstream);
}

/// One that goes may have the name of another by now: statistics tell them apart by it.
void ForwardCore::give_name_up(UpstreamId upstream) {
  UpstreamConfig config = *sites_[upstream].upstream->config();
  const auto is_taken = [&](const Site& site) {
    return site.upstream && &site != &sites_[upstream] &&
           site.upstream->config()->name == config.name;
  };
  while (std::ranges::any_of(sites_, is_taken)) config.name += " (leaving)";
  sites_[upstream].upstream->set_config(std::move(config));
}

void ForwardCore::add_site(const UpstreamConfig& config) {
  const auto free = std::ranges::find_if(sites_, [](const Site& site) { return !site.upstream; });
  const auto id = static_cast<UpstreamId>(free - sites_.begin());
  if (free == sites_.end()) sites_.emplace_back();
  sites_[id].upstream = std::make_unique<Upstream>(config, options_, clock_, random_);
  order_.push_back(id);
}

/// Every peer that it knows is to be forgotten there, and nothing else is told.
void ForwardCore::see_off(UpstreamId upstream) {
  Site& site = sites_[upstream];
  std::erase(order_, upstream);
  leaving_.push_back(upstream);
  site.leaving = true;
  site.farewell = timers_.add(now() + options_.farewell, {.wake = Wake::farewell, .id = upstream});
  found_.forget_upstream(upstream);
  for (std::size_t i = 0; i < jobs_.all().size(); ++i) {
    const auto id = static_cast<JobId>(i);
    if (jobs_[id].upstream != upstream) continue;
    call_off(id);
    if (jobs_[id].state == JobState::idle) rest(id);
  }
  if (site.jobs_count == 0) remove_site(upstream);
}

/// It is on the list again before it was forgotten.
void ForwardCore::return_site(UpstreamId upstream) {
  Site& site = sites_[upstream];
  std::erase(leaving_, upstream);
  order_.push_back(upstream);
  site.leaving = false;
  timers_.cancel(site.farewell);
  site.farewell = {};
  for (std::size_t i = 0; i < jobs_.all().size(); ++i) {
    const Job& job = jobs_.all()[i];
    if (job.upstream != upstream || job.state == JobState::running || parts(job)) continue;
    cancel(static_cast<JobId>(i));
    rest(static_cast<JobId>(i));
  }
  // Those whose peers have left still wait for their turn, which is now.
  if (!site.upstream->suspended(now())) unpark(upstream);
}

void ForwardCore::remove_site(UpstreamId upstream) {
  sites_[upstream].upstream->disable("removed", Upstream::DisabledBy::hand);
  cancel_jobs(upstream);
  for (std::size_t i = 0; i < jobs_.all().size(); ++i)
    if (jobs_.all()[i].upstream == upstream) forget_job(static_cast<JobId>(i));
  for (Torrent& torrent : torrents_)
    if (upstream < torrent.pairs.size()) torrent.pairs[upstream] = {};
  found_.forget_upstream(upstream);
  forget_tracker_ids(upstream);
  timers_.cancel(sites_[upstream].timer);
  timers_.cancel(sites_[upstream].farewell);
  std::erase(order_, upstream);
  std::erase(leaving_, upstream);
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
    if (parts(jobs_[id])) forget_job(id);
  }
}

bool ForwardCore::disable(std::string_view name, std::string reason) {
  const auto id = find_site(name);
  if (!id) return false;
  sites_[*id].upstream->disable(std::move(reason), Upstream::DisabledBy::hand);
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
  for (const std::vector<UpstreamId>& some : {order_, leaving_})
    for (const UpstreamId id : some) {
      sites_[id].upstream->disable("shut down", Upstream::DisabledBy::hand);
      cancel_jobs(id);
    }
}

}  // namespace sluice::tracker
