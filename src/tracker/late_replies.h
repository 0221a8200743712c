// SPDX-License-Identifier: MIT
// Answers that wait a moment for what upstreams may know.
#pragma once

#include <sluice/clock.h>

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "tracker/announce.h"

namespace sluice::tracker {

/// Each reply comes once: when its torrent is released, or when its time is over.
///
/// Concurrency: thread-safe; replies are made on the thread that releases them, without the lock.
/// Limits: kWaitingMax at once; those beyond do not wait.
class LateReplies {
 public:
  static constexpr std::size_t kWaitingMax = 10'000;
  using Reply = std::function<void()>;

  /// False if too many wait: the caller replies by itself.
  bool add(const InfoHash& hash, MonoTime until, Reply reply);
  void release(const InfoHash& hash);
  /// Makes what is due. Returns when it wants to be called again; MonoTime::max(): for nothing.
  MonoTime run_due(MonoTime now);
  void release_all() { run_due(MonoTime::max()); }
  std::size_t size() const;

 private:
  struct Waiting {
    InfoHash hash;
    Reply reply;
  };
  using ByTime = std::multimap<MonoTime, Waiting>;

  mutable Mutex mutex_;
  ByTime by_time_ SLUICE_GUARDED_BY(mutex_);
  std::multimap<InfoHash, ByTime::iterator> by_hash_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::tracker
