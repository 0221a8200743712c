// SPDX-License-Identifier: MIT
// What is told to one upstream about one local peer.
#pragma once

#include <sluice/clock.h>
#include <sluice/runtime/timers.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tracker/announce.h"

namespace sluice::tracker {

using JobId = std::uint32_t;
using UpstreamId = std::uint32_t;
inline constexpr std::uint32_t kNobody = UINT32_MAX;

/// A job is pending unless it is idle.
enum class JobState : std::uint8_t { idle, queued, scheduled, running };
inline constexpr std::size_t kJobStates = 4;

/// The first goes first.
enum class JobPriority : std::uint8_t { event, first, retry, refresh };
inline constexpr std::size_t kJobPriorities = 4;

/// A job's neighbours in a list.
struct JobLink {
  JobId before = kNobody;
  JobId after = kNobody;
};

/// One peer at one upstream. It is there from the first announce until the peer has left, and idle
/// between two announces. What is sent is the peer's newest announce at the time of sending.
struct Job {
  std::uint32_t torrent = kNobody;
  std::uint32_t peer = kNobody;
  UpstreamId upstream = kNobody;
  JobLink line = {};  ///< In its upstream's line, or among those that wait for the upstream.
  JobLink rank = {};  ///< Among the queued ones of its priority.
  runtime::Handle timer = {};
  MonoTime due = {};    ///< Idle: not before. Scheduled: when.
  MonoTime timed = {};  ///< Begun by the clock: when that should have been. Else {}.
  JobState state = JobState::idle;
  JobPriority priority = JobPriority::first;
  Event event = Event::none;
  Event next_event = Event::none;  ///< To be told when the one that runs has ended.
  std::uint8_t attempts = 0;
  std::uint8_t failures = 0;  ///< Jobs in a row that found the upstream unreachable.
  bool known = false;         ///< The upstream has it among its peers.
  bool parked = false;        ///< Scheduled for when its upstream can be asked again.
};
static_assert(sizeof(Job) <= 64);

/// A list of jobs through one of their links. Not thread-safe. Every call O(1).
template <JobLink Job::* kLink>
class JobList {
 public:
  bool empty() const { return first_ == kNobody; }
  JobId first() const { return first_; }
  JobId last() const { return last_; }
  std::size_t size() const { return size_; }

  void push_back(std::vector<Job>& jobs, JobId id) {
    jobs[id].*kLink = {.before = last_, .after = kNobody};
    (last_ == kNobody ? first_ : (jobs[last_].*kLink).after) = id;
    last_ = id;
    ++size_;
  }
  void remove(std::vector<Job>& jobs, JobId id) {
    const JobLink link = jobs[id].*kLink;
    (link.before == kNobody ? first_ : (jobs[link.before].*kLink).after) = link.after;
    (link.after == kNobody ? last_ : (jobs[link.after].*kLink).before) = link.before;
    jobs[id].*kLink = {};
    --size_;
  }

 private:
  JobId first_ = kNobody;
  JobId last_ = kNobody;
  std::size_t size_ = 0;
};
using JobLine = JobList<&Job::line>;
using JobRank = JobList<&Job::rank>;

/// All jobs by number, counted by state. Numbers are used again. Not thread-safe.
/// A torrent is asked about while a job of it is queued or runs.
class JobTable {
 public:
  JobId add(std::uint32_t torrent, std::uint32_t peer, UpstreamId upstream) {
    JobId id = static_cast<JobId>(jobs_.size());
    if (free_.empty()) {
      jobs_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    jobs_[id] = {};
    jobs_[id].torrent = torrent;
    jobs_[id].peer = peer;
    jobs_[id].upstream = upstream;
    ++counts_[0];
    return id;
  }
  /// The job is idle and in no list.
  void erase(JobId id) {
    jobs_[id] = {};
    free_.push_back(id);
    --counts_[0];
  }
  void set_state(JobId id, JobState state) {
    count_asked(id, -1);
    --counts_[static_cast<std::size_t>(jobs_[id].state)];
    jobs_[id].state = state;
    ++counts_[static_cast<std::size_t>(state)];
    count_asked(id, 1);
  }

  Job& operator[](JobId id) { return jobs_[id]; }
  const Job& operator[](JobId id) const { return jobs_[id]; }
  std::size_t count(JobState state) const { return counts_[static_cast<std::size_t>(state)]; }
  std::size_t pending() const {
    return count(JobState::queued) + count(JobState::scheduled) + count(JobState::running);
  }
  bool is_asked_about(std::uint32_t torrent) const {
    return torrent < asked_.size() && asked_[torrent] > 0;
  }
  /// Torrents that had their last such job since the last call. Some may have others by now, or
  /// come twice.
  std::vector<std::uint32_t> take_quiet() { return std::exchange(quiet_, {}); }
  /// Also those that are not there: their upstream is kNobody.
  std::vector<Job>& all() { return jobs_; }
  const std::vector<Job>& all() const { return jobs_; }

 private:
  void count_asked(JobId id, std::int32_t change) {
    const Job& job = jobs_[id];
    if (job.state != JobState::queued && job.state != JobState::running) return;
    if (job.torrent >= asked_.size()) asked_.resize(job.torrent + std::size_t{1});
    asked_[job.torrent] += change;
    if (asked_[job.torrent] == 0) quiet_.push_back(job.torrent);
  }

  std::vector<Job> jobs_;
  std::vector<JobId> free_;
  std::array<std::size_t, kJobStates> counts_ = {};
  std::vector<std::int32_t> asked_;  ///< By torrent: such jobs.
  std::vector<std::uint32_t> quiet_;
};

}  // namespace sluice::tracker
