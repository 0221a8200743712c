// SPDX-License-Identifier: MIT
#include "tracker/forwarder.h"

#include <fmt/format.h>

#include <atomic>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace sluice::tracker {

struct Forwarder::State {
  State(const ForwardOptions& options, Seams given)
      : seams(std::move(given)), core(options, *seams.clock, *seams.random) {}

  /// Whether run_due() is to be woken; it is woken once.
  bool is_wanted_sooner() SLUICE_ANNOTATE(requires_capability(mutex)) {
    if (core.next_due() >= promised) return false;
    promised = MonoTime::min();
    return true;
  }
  /// Calls `change` with the engine, under the lock.
  template <class Change>
  auto with_core(const Change& change) {
    MutexLock lock(mutex);
    auto result = change(core);
    const bool wakes = is_wanted_sooner();
    const std::vector<InfoHash> quiet = core.take_quiet();
    lock.unlock();
    if (wakes && seams.wake) seams.wake();
    tell_quiet(quiet);
    return result;
  }
  void tell_quiet(const std::vector<InfoHash>& quiet) const {
    if (!seams.on_quiet) return;
    for (const InfoHash& hash : quiet) seams.on_quiet(hash);
  }
  void finish(Ticket ticket, UpstreamResult result) {
    const auto hash =
        with_core([&](ForwardCore& engine) { return engine.finish(ticket, std::move(result)); });
    if (hash && seams.on_peers) seams.on_peers(*hash);
  }

  const Seams seams;
  std::atomic<bool> has_upstreams = false;
  mutable Mutex mutex;
  ForwardCore core SLUICE_GUARDED_BY(mutex);
  /// What run_due() returned last; min() while it is at work or about to be.
  MonoTime promised SLUICE_GUARDED_BY(mutex) = MonoTime::max();
};

Forwarder::Forwarder(const ForwardOptions& options, Seams seams) {
  SLUICE_CHECK(seams.clock != nullptr && seams.random != nullptr && seams.transport != nullptr);
  SLUICE_CHECK(validate(options).ok());
  state_ = std::make_shared<State>(options, std::move(seams));
}

Forwarder::~Forwarder() = default;

std::optional<ForwardRefusal> Forwarder::on_announce(const Announce& announce, HashSeen seen) {
  return state_->with_core([&](ForwardCore& core) { return core.announce(announce, seen); });
}

void Forwarder::peer_gone(const InfoHash& hash, const PeerId& peer) {
  state_->with_core([&](ForwardCore& core) {
    core.peer_gone(hash, peer);
    return true;
  });
}

PeerList Forwarder::peers_of(const InfoHash& hash, std::size_t wanted) {
  const MutexLock lock(state_->mutex);
  return state_->core.peers_of(hash, wanted);
}

bool Forwarder::has_upstreams() const {
  return state_->has_upstreams.load(std::memory_order_relaxed);
}

std::size_t Forwarder::peers_known(const InfoHash& hash) {
  const MutexLock lock(state_->mutex);
  return state_->core.peers_known(hash);
}

bool Forwarder::is_asked_about(const InfoHash& hash) const {
  const MutexLock lock(state_->mutex);
  return state_->core.is_asked_about(hash);
}

Status Forwarder::reload(const std::vector<UpstreamConfig>& upstreams) {
  std::set<std::string_view> names;
  for (const UpstreamConfig& upstream : upstreams) {
    if (upstream.name.empty())
      return error(Code::invalid_argument, fmt::format("upstream {} has no name", upstream.uri));
    if (!names.insert(upstream.name).second)
      return error(Code::invalid_argument,
                   fmt::format("two upstreams are named {}: rename one", upstream.name));
  }
  state_->has_upstreams = state_->with_core([&](ForwardCore& core) {
    core.reload(upstreams);
    return core.has_upstreams();
  });
  return {};
}

Status Forwarder::enable(std::string_view name) {
  if (state_->with_core([&](ForwardCore& core) { return core.enable(name); })) return {};
  return error(Code::not_found, fmt::format("there is no upstream named {}", name));
}

Status Forwarder::disable(std::string_view name, std::string reason) {
  if (state_->with_core([&](ForwardCore& core) { return core.disable(name, std::move(reason)); }))
    return {};
  return error(Code::not_found, fmt::format("there is no upstream named {}", name));
}

MonoTime Forwarder::run_due() {
  State& state = *state_;
  for (;;) {
    MutexLock lock(state.mutex);
    state.promised = MonoTime::min();
    state.core.run_timers();
    const std::vector<ForwardCore::Start> starts = state.core.take_starts();
    const std::vector<InfoHash> quiet = state.core.take_quiet();
    const MonoTime next = state.core.next_due();
    const bool rests = starts.empty() && next > state.seams.clock->mono();
    if (rests) state.promised = next;
    lock.unlock();
    state.tell_quiet(quiet);
    if (rests) return next;
    for (const ForwardCore::Start& start : starts)
      state.seams.transport->announce(
          start.request, [weak = std::weak_ptr(state_), ticket = start.ticket](UpstreamResult r) {
            if (const auto alive = weak.lock()) alive->finish(ticket, std::move(r));
          });
  }
}

void Forwarder::stop_all(Duration limit) {
  state_->with_core([&](ForwardCore& core) {
    core.stop_all(limit);
    return true;
  });
}

std::size_t Forwarder::pending() const {
  const MutexLock lock(state_->mutex);
  return state_->core.pending();
}

ForwardInsight Forwarder::insight() const {
  const MutexLock lock(state_->mutex);
  return state_->core.insight();
}

Status Forwarder::verify() const {
  const MutexLock lock(state_->mutex);
  return state_->core.verify();
}

}  // namespace sluice::tracker
