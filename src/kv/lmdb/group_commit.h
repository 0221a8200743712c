// SPDX-License-Identifier: MIT
// Many callers, one sync: whoever finds nobody at work leads, and commits for all who have come.
#pragma once

#include <sluice/kv.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace sluice::kv {

/// One body on its way to its commit.
struct Request {
  enum State : std::uint32_t { waiting, leading, finished };

  bool submitted() const { return done != nullptr; }

  const Body* body = nullptr;
  WriteOptions options = {};
  /// Set by the leader before the request is finished.
  Result<Commit> result = error(Code::commit_unknown, "undecided");

  /// How the thread in run() is woken: see GroupCommit::await().
  std::atomic<std::uint32_t> state{waiting};
  std::uint32_t round = 0;
  std::uint32_t bit = 0;

  /// Of submit() only; `body` then refers to this one.
  Body owned_body = {};
  Done done = {};
};

/// Queues requests and decides who commits them. At any time at most one thread leads: it calls
/// `commit_batch`, which take()s requests, commits them and calls finish(). Afterwards the lead
/// passes to a thread that waits in run(), so that nobody serves others for ever; if only submitted
/// requests are left, to a thread of this class, which is started by the first submit().
class GroupCommit {
 public:
  /// The most bodies in one commit.
  static constexpr std::size_t kBatchMax = 1024;

  explicit GroupCommit(std::function<void()> commit_batch);
  /// Completes what was submitted. No thread may be in run().
  ~GroupCommit();

  Result<Commit> run(const Body& body, const WriteOptions& options);
  void submit(Body body, Done done, const WriteOptions& options);

  /// For the leader: the next request of a batch that has `taken` already, or null if the batch
  /// should now be committed. When the last batches were larger it gives late-comers a moment.
  Request* take(std::size_t taken);
  /// For the leader: tells everyone. The requests are not touched again.
  void finish(const std::vector<Request*>& batch);

 private:
  bool push(Request* request);
  Request* pop();
  bool linger(std::size_t taken);
  void lead_until_finished(const Request& own);
  void pass_lead();
  std::uint32_t await(const Request& request) const;
  void wake_server();
  void serve_submitted(const std::stop_token& stop);
  bool queue_empty();

  const std::function<void()> commit_batch_;

  Mutex mutex_;
  std::deque<Request*> queue_ SLUICE_GUARDED_BY(mutex_);
  bool led_ SLUICE_GUARDED_BY(mutex_) = false;
  // How many requests a lingering leader waits for; 0 if none lingers.
  std::size_t wanted_ SLUICE_GUARDED_BY(mutex_) = 0;
  // Which of rounds_ the next request sleeps on: it changes whenever a batch is closed.
  std::uint32_t round_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint32_t pushed_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::jthread server_ SLUICE_GUARDED_BY(mutex_);

  // What the threads of one batch sleep on, so that one system call wakes them all, while those of
  // the next batch sleep on the other.
  std::array<std::atomic<std::uint32_t>, 2> rounds_{};
  // What a lingering leader sleeps on: changes when the wanted number has come.
  std::atomic<std::uint32_t> arrivals_{0};
  // What the server thread sleeps on: changes when it is to lead.
  std::atomic<std::uint32_t> server_calls_{0};

  // Only the leader touches these.
  std::size_t expected_ = 1;
  bool lingered_ = false;  // In this batch.
};

}  // namespace sluice::kv
