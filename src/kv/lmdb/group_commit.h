// SPDX-License-Identifier: MIT
// Many callers, one sync: whoever finds nobody at work leads, and commits for all who have come.
#pragma once

#include <sluice/kv.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
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
  Result<Commit> result = Commit{};
  /// What the waiting thread of run() sleeps on.
  std::atomic<std::uint32_t> state{waiting};
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

  GroupCommit(std::function<void()> commit_batch, const Clock& clock);
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
  void lead_until_finished(Request& own);
  void pass_lead();
  void serve_submitted(const std::stop_token& stop);
  bool queue_empty();
  bool linger(std::size_t taken);
  Request* pop();

  const std::function<void()> commit_batch_;
  const Clock& clock_;

  Mutex mutex_;
  std::deque<Request*> queue_ SLUICE_GUARDED_BY(mutex_);
  bool led_ SLUICE_GUARDED_BY(mutex_) = false;
  std::jthread server_ SLUICE_GUARDED_BY(mutex_);

  // The state of the server thread, as Request::state: waiting, or leading.
  std::atomic<std::uint32_t> server_state_{Request::waiting};

  // Only the leader touches these.
  std::size_t expected_ = 1;
  std::optional<MonoTime> linger_until_;
};

}  // namespace sluice::kv
