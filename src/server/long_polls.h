// SPDX-License-Identifier: MIT
// Claims that wait for a job.
#pragma once

#include <sluice/queue.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"

namespace sluice::server {

/// Those that wait for the same queues, and pass over the same groups, stand in one line, served by
/// one thread: the first of them waits in the store, and whoever is behind it comes next.
class LongPolls {
 public:
  /// Lines at once.
  static constexpr std::size_t kLinesMax = 64;

  struct Waiter {
    queue::ClaimRequest request = {};  ///< `wait` is how long from now; `stop` is not used.
    std::function<bool()> is_gone = {};
    /// Called once, on a thread of the line's.
    std::function<void(Result<std::vector<queue::Lease>> leases)> done = {};
  };

  explicit LongPolls(queue::Queues& queues);
  ~LongPolls();
  LongPolls(const LongPolls&) = delete;
  LongPolls& operator=(const LongPolls&) = delete;

  /// False, with nothing done, if there are too many lines, or stop() was called.
  bool add(Waiter& waiter);
  /// Who asks again under the same operation id, and does not wait, has given up the call before:
  /// if that still waits, it gets nothing now, and no job that comes later.
  void give_up(const std::string& operation);
  /// Everybody who waits gets what there is: nothing.
  void stop();

 private:
  struct Standing;
  struct Line;
  static std::string key_of(const queue::ClaimRequest& request);
  void serve(const std::string& key, Line& line, const std::stop_token& stop);
  std::vector<Standing> take_over(Line& line, bool all)
      SLUICE_ANNOTATE(requires_capability(mutex_));
  void forget(const Standing& one) SLUICE_ANNOTATE(requires_capability(mutex_));
  queue::ClaimRequest next_claim(Line& line) const;
  void join_ended();

  queue::Queues& queues_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Line>> lines_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Line>> ended_ SLUICE_GUARDED_BY(mutex_);  // Threads to be joined.
  std::unordered_multiset<std::string> operations_ SLUICE_GUARDED_BY(mutex_);  // Of all lines.
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::server
