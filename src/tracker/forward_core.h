// SPDX-License-Identifier: MIT
// Which upstream is told what and when: the forward engine without locks and without a transport.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>
#include <sluice/result.h>
#include <sluice/runtime/timers.h>
#include <sluice/token_bucket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "tracker/announce.h"
#include "tracker/forward_insight.h"
#include "tracker/forward_job.h"
#include "tracker/forward_options.h"
#include "tracker/forward_queue.h"
#include "tracker/upstream.h"
#include "tracker/upstream_peers.h"

namespace sluice::tracker {

/// Whether the tracker knew the torrent before this announce.
enum class HashSeen : std::uint8_t { first, before };

/// What a local client is told instead of peers.
struct ForwardRefusal {
  std::string_view why = {};  ///< A literal.
  Duration retry_in = {};
};

/// Names a request in flight.
struct Ticket {
  JobId job = kNobody;
  std::uint64_t serial = 0;
};

/// The engine. Forwarder describes what it does; here is what its parts agree on:
/// - A job is in exactly one of these: idle, perhaps with a timer; the queue; a timer; its
///   upstream's list of parked ones; the table of running ones.
/// - Without upstreams there are no peers but those that have left.
/// - An upstream that leaves is in leaving_, not in order_: its jobs say that their peers have
///   stopped, or run and will. It is forgotten with the last of them, or when its time is over.
/// - A peer that has left stays until its last job is gone. A torrent stays until its last peer is
///   gone and no upstream has asked for patience.
/// - An upstream that has queued jobs is in the ring, unless it is known what it waits for: an
///   answer, or its timer.
///
/// Concurrency: not thread-safe. Cost: announce() O(upstreams); reload(), disable() and stop_all()
/// O(jobs); the rest O(1) or O(log jobs), beside the jobs that it moves.
class ForwardCore {
 public:
  ForwardCore(const ForwardOptions& options, const Clock& clock, Random& random);
  ForwardCore(const ForwardCore&) = delete;
  ForwardCore& operator=(const ForwardCore&) = delete;

  std::optional<ForwardRefusal> announce(const Announce& announce, HashSeen seen);
  void peer_gone(const InfoHash& hash, const PeerId& peer);
  PeerList peers_of(const InfoHash& hash, std::size_t wanted);
  std::size_t peers_known(const InfoHash& hash) { return found_.count(hash); }
  bool is_asked_about(const InfoHash& hash) const;
  /// Torrents that no upstream is asked about any more, since the last call.
  std::vector<InfoHash> take_quiet();

  void reload(const std::vector<UpstreamConfig>& upstreams);
  bool enable(std::string_view name);
  bool disable(std::string_view name, std::string reason);
  void stop_all(Duration limit);

  /// Does what is due; not all of it, if the queue gets full of what take_starts() may take.
  void run_timers();
  struct Start {
    Ticket ticket = {};
    UpstreamRequest request = {};
  };
  /// The requests that may start now, which then run.
  std::vector<Start> take_starts();
  /// The torrent, if it has new peers. A ticket that was given up is ignored.
  std::optional<InfoHash> finish(Ticket ticket, UpstreamResult result);
  /// When run_timers() or take_starts() have something to do.
  MonoTime next_due();

  ForwardInsight insight() const;
  std::size_t pending() const { return jobs_.pending(); }
  bool has_upstreams() const { return !order_.empty(); }
  Status verify() const;

 private:
  /// What is known of a torrent at one upstream.
  struct Pair {
    MonoTime not_before = {};  ///< The upstream asked for that (BEP 31). Nothing is told till then.
    MonoTime next = {};        ///< When the torrent is due: after a refusal, and in mode `hash`.
    JobId retry = kNobody;     ///< The job that waits for not_before.
    JobId keeper = kNobody;    ///< In mode `hash`: the one that keeps the torrent announced.
    std::uint8_t refusals = 0;  ///< In a row.
  };
  struct Torrent {
    InfoHash hash = {};
    std::unordered_map<PeerId, std::uint32_t, HashBytes> peers = {};
    std::vector<Pair> pairs = {};  ///< By upstream.
    bool waits = false;            ///< Has a timer to look whether it can be forgotten.
  };
  struct LocalPeer {
    Announce last = {};
    std::uint32_t torrent = kNobody;  ///< kNobody: the place is free.
    std::uint32_t jobs_count = 0;
    std::vector<JobId> jobs = {};  ///< By upstream; kNobody: none.
    bool left = false;
  };
  struct Site {
    std::unique_ptr<Upstream> upstream = {};  ///< Null: the place is free.
    JobLine parked = {};
    std::size_t jobs_count = 0;
    runtime::Handle timer = {};
    MonoTime timer_due = MonoTime::max();  ///< max(): it has no timer.
    runtime::Handle farewell = {};         ///< Rings when it is to be forgotten.
    bool in_ring = false;
    bool leaving = false;
  };
  struct Running {
    std::uint64_t serial = 0;
    Upstream::Call call;
  };
  enum class Wake : std::uint8_t { job, site, farewell, torrent, scale, end };
  struct Alarm {
    Wake wake = Wake::job;
    std::uint32_t id = 0;
  };

  // forward_announce.cc: local peers come, tell and leave.
  std::optional<ForwardRefusal> gate(HashSeen seen);
  std::uint32_t welcome(const Announce& announce);
  void come_back(std::uint32_t peer);
  void select_upstreams(std::uint32_t peer);
  void tell_later(UpstreamId upstream, std::uint32_t peer, MonoTime at);
  bool eligible(UpstreamId upstream, std::uint32_t peer, MonoTime at) const;
  void tell_completed(std::uint32_t peer);
  void leave(std::uint32_t peer);
  void call_off(JobId id);
  std::optional<std::uint32_t> find_peer(const InfoHash& hash, const PeerId& peer) const;

  // forward_jobs.cc: jobs begin, wait and end.
  JobId job_of(std::uint32_t peer, UpstreamId upstream);
  /// `timed`: the clock begins it, and should have done so then.
  void begin(JobId id, JobPriority priority, MonoTime timed = {});
  void begin_event(JobId id, Event event);
  void submit(JobId id);
  bool make_room(const Job& job);
  void overflow(JobId id, DropReason reason);
  void schedule(JobId id, MonoTime due);
  void park(JobId id);
  void park_queued(UpstreamId upstream);
  std::size_t share_left(UpstreamId upstream) const;
  void unpark(UpstreamId upstream);
  void drop_parked_stops(UpstreamId upstream);
  void withdraw(JobId id);
  void cancel(JobId id);
  void hold_back(JobId id);
  void drop(JobId id, DropReason reason);
  void rest(JobId id);
  bool wants_to_hear(const Job& job) const;
  void forget_job(JobId id);
  void forget_peer(std::uint32_t peer);
  void try_to_forget_torrent(std::uint32_t torrent);
  void set_job_timer(JobId id, MonoTime due);

  // forward_run.cc: time passes, requests start.
  void on_alarm(Alarm alarm);
  void on_job_alarm(JobId id);
  void on_site_alarm(UpstreamId upstream);
  void on_scale_alarm();
  void set_site_timer(UpstreamId upstream, MonoTime due);
  void join_ring(UpstreamId upstream);
  void arm_scale();
  JobId first_startable(UpstreamId upstream);
  void measure_lateness(Job& job);
  UpstreamRequest request_of(const Job& job) const;

  // forward_finish.cc: answers come.
  void finish_ok(JobId id, const UpstreamResult& result);
  void finish_refused(JobId id, const UpstreamResult& result);
  void finish_later(JobId id);
  void wait_again(JobId id);
  void after_answer(JobId id);
  void finish_failed(JobId id, MonoTime due);
  void wait_as_asked(JobId id, MonoTime due);
  Duration spread(Duration named);

  // forward_sites.cc: upstreams come and go.
  void enable_site(UpstreamId upstream);
  void cancel_jobs(UpstreamId upstream);
  void add_site(const UpstreamConfig& config);
  void keep_site(UpstreamId upstream, const UpstreamConfig& config);
  void give_name_up(UpstreamId upstream);
  void return_site(UpstreamId upstream);
  void see_off(UpstreamId upstream);
  void remove_site(UpstreamId upstream);
  void leave_all();
  std::optional<UpstreamId> find_site(std::string_view name) const;
  void forget_tracker_ids(UpstreamId upstream);
  void end_all();

  // forward_insight.cc
  void list_scheduled(ForwardInsight& view) const;
  void list_upstreams(ForwardInsight& view) const;

  template <class T>
  static std::uint32_t take_place(std::vector<T>& all, std::vector<std::uint32_t>& free) {
    if (free.empty()) {
      all.emplace_back();
      return static_cast<std::uint32_t>(all.size() - 1);
    }
    const std::uint32_t place = free.back();
    free.pop_back();
    return place;
  }
  MonoTime now() const { return clock_.mono(); }
  bool can_start() const { return !ring_.empty() && running_.size() < slots_; }
  bool hash_mode() const { return options_.mode == AnnounceMode::hash; }
  Upstream& upstream_of(const Job& job) { return *sites_[job.upstream].upstream; }
  /// The upstream is to forget the peer.
  bool parts(const Job& job) const { return peers_[job.peer].left || sites_[job.upstream].leaving; }
  Pair& pair_of(const Job& job) { return torrents_[job.torrent].pairs[job.upstream]; }
  const Pair& pair_of(const Job& job) const { return torrents_[job.torrent].pairs[job.upstream]; }

  const ForwardOptions options_;
  const Clock& clock_;
  Random& random_;
  const std::uint32_t slots_max_;
  std::uint32_t slots_;

  JobTable jobs_;
  ForwardQueue queue_;
  runtime::Timers<Alarm> timers_;
  std::uint64_t serial_ = 0;

  std::vector<Site> sites_;
  std::unordered_map<JobId, Running> running_;  ///< Dies before the sites, whose calls it holds.
  std::vector<UpstreamId> order_;               ///< Of those that exist, as they came.
  std::vector<UpstreamId> leaving_;             ///< Those that are not on the list any more.
  std::deque<UpstreamId> ring_;  ///< Upstreams that may have something to start, by turns.
  std::vector<LocalPeer> peers_;
  std::vector<std::uint32_t> free_peers_;
  std::vector<Torrent> torrents_;
  std::vector<std::uint32_t> free_torrents_;
  std::unordered_map<InfoHash, std::uint32_t, HashBytes> torrent_ids_;
  UpstreamPeers found_;
  /// By torrent and upstream. Few upstreams give one, so that there is none in every Pair.
  std::map<std::pair<std::uint32_t, UpstreamId>, std::string> tracker_ids_;

  BucketState first_bucket_;
  JobCounts counts_ = {};
  const std::shared_ptr<Histogram> lateness_ns_;  ///< The last who looks at it holds it last.
  std::uint64_t refused_full_ = 0;
  std::uint64_t rate_limited_ = 0;
  std::uint64_t throttled_ = 0;
  bool scaling_ = false;  ///< Its timer runs.
  bool stopping_ = false;
};

}  // namespace sluice::tracker
