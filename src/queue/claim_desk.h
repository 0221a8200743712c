// SPDX-License-Identifier: MIT
// One claim transaction at a time per list of queues: whoever claims while one is under way is
// served by the next, together with all others who came meanwhile.
#pragma once

#include <sluice/queue.h>
#include <sluice/result.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "queue/verbs.h"

namespace sluice::queue {

/// Thread-safe. The threads that claim do the work: the first of each round leads it.
class ClaimDesk {
 public:
  /// Runs one plan in one transaction, durably.
  using Serve = std::function<Result<ClaimOutcome>(const ClaimPlan&)>;
  explicit ClaimDesk(Serve serve) : serve_(std::move(serve)) {}

  /// The request must be valid; its operation id and its wait are not looked at.
  Result<Claimed> claim(const ClaimRequest& request);

 private:
  struct Caller;
  struct Line {
    bool busy = false;
    std::vector<Caller*> callers = {};
  };

  void lead(const std::string& name, Caller& leader);
  std::vector<Caller*> next_round(Line& line, Caller& leader)
      SLUICE_ANNOTATE(requires_capability(mutex_));

  const Serve serve_;
  Mutex mutex_;
  std::map<std::string, Line> lines_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::queue
