// SPDX-License-Identifier: MIT
// Tells upstream trackers what local peers announce, and collects the peers that they answer with.
//
//   Forwarder forwarder({}, {.random = &random, .transport = &transport, .wake = ...});
//   forwarder.reload(upstreams);
//   if (auto refusal = forwarder.on_announce(announce, HashSeen::before)) ...   // Any thread.
//   for (;;) sleep_until_woken_or(forwarder.run_due());                         // One thread.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>
#include <sluice/result.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/announce.h"
#include "tracker/forward_core.h"
#include "tracker/forward_insight.h"
#include "tracker/forward_options.h"
#include "tracker/upstream_transport.h"

namespace sluice::tracker {

/// The forward engine.
///
/// A job is one announce of one local peer to one upstream. An announce makes a job for each
/// upstream that is neither disabled nor suspended, where the peer is due and has no job already.
/// One that is to be left alone for a while, and does not know the peer, hears of it afterwards;
/// not so in mode `hash` and with options.refuse_when_full, where the client has to come again. A
/// job is queued, and runs when a slot, its upstream's cap and its upstream's rate allow; the
/// upstreams take turns. A peer that an upstream knows is announced again when that upstream's
/// interval is over, by itself, until the peer has left.
///
/// | the upstream            | what follows                                                    |
/// | ----------------------- | --------------------------------------------------------------- |
/// | answers                 | its peers are kept; next after its interval                     |
/// | refuses                 | the torrent is not due there for 60 s, doubling up to 1 h       |
/// | refuses, retry in 1-9   | the job waits so many minutes; nothing is said before           |
/// | refuses, retry in 10-   | next after so many minutes; nothing is said before              |
/// | refuses, never          | it is disabled, until reload() or enable()                      |
/// | is busy                 | it is suspended; its jobs wait                                  |
/// | cannot be reached       | the job is tried again, up to attempts_max; then as if refused  |
/// | cannot be reached often | its breaker opens; its jobs wait, one of them tries it          |
///
/// A full queue drops what is least urgent: events go before first announces, retries and
/// refreshes. Retries and events are not dropped but wait. The local client does not notice, unless
/// options.refuse_when_full.
///
/// Lifecycle: reload() names the upstreams; stop_all() ends it. The seams outlive it, and stay
/// usable until the transport has answered all requests.
/// Concurrency: thread-safe by one lock, which is never held while a seam is called, but for the
/// clock and the random numbers. The transport is called by run_due() only.
/// Limits: options. Jobs take about 150 bytes for each peer and upstream, with their timer.
class Forwarder {
 public:
  struct Seams {
    const Clock* clock = &system_clock();
    Random* random = nullptr;  ///< Used under the lock.
    UpstreamTransport* transport = nullptr;
    std::function<void()> wake = {};  ///< run_due() is wanted sooner than it said.
    std::function<void(const InfoHash&)> on_peers = {};  ///< An upstream named peers of a torrent.
    std::function<void(const InfoHash&)> on_quiet = {};  ///< is_asked_about() it no longer.
  };
  /// Options that are not valid stop the process.
  Forwarder(const ForwardOptions& options, Seams seams);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  /// A local peer said so. `completed` goes at once to every upstream that knows the peer;
  /// `stopped` too, and is the last that is said of it. Never waits. A refusal only if
  /// options.refuse_when_full, and then nothing was made.
  std::optional<ForwardRefusal> on_announce(const Announce& announce, HashSeen seen);
  /// A local peer was not heard from for too long: as if it had stopped.
  void peer_gone(const InfoHash& hash, const PeerId& peer);
  /// Up to `wanted` different peers that upstreams named, of both families together.
  PeerList peers_of(const InfoHash& hash, std::size_t wanted);
  /// How many different ones there are.
  std::size_t peers_known(const InfoHash& hash);
  /// Whether an upstream that was not reached in vain is asked about it, or is about to be: there
  /// may be peers in a moment.
  bool is_asked_about(const InfoHash& hash) const;

  /// Whether there is anybody to tell: if not, the three above do nothing, and need not be called.
  /// Takes no lock.
  bool has_upstreams() const;

  /// From now on these. Those whose uri stays keep their jobs, whatever their name, and those that
  /// said `never` are enabled again. The others leave: within options.farewell they are told of
  /// every peer that they know that it stopped, unless another entry has their uri; what else waits
  /// for them is cancelled. One that leaves while another has its name is called "NAME (leaving)".
  /// invalid_argument if a name is empty or comes twice.
  Status reload(const std::vector<UpstreamConfig>& upstreams);
  /// not_found if there is no upstream of that name on the list. Whoever it knew is told to it
  /// again when that is due. Without effect on one that is not disabled.
  Status enable(std::string_view name);
  /// It hears nothing from now on, not even that peers have stopped, until enable(); what waits or
  /// runs for it is cancelled. The peers that it named are kept until they are old.
  Status disable(std::string_view name, std::string reason);

  /// Does what is due, and returns when it wants to be called again; MonoTime::max(): not before it
  /// is woken. One thread at a time.
  MonoTime run_due();

  /// No more announces: every upstream is told of every peer that it knows that it stopped. What is
  /// not done within `limit` is cancelled. run_due() is called on, until pending() is 0.
  void stop_all(Duration limit);
  std::size_t pending() const;

  ForwardInsight insight() const;
  /// `corrupt` if the books do not balance (JobCounts), or a job is not where it says it is.
  Status verify() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // The requests in flight know it weakly: it dies with this.
};

}  // namespace sluice::tracker
