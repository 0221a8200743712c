// SPDX-License-Identifier: MIT
// What the files that implement Queues share.
#pragma once

#include <sluice/queue.h>

#include "queue/inside.h"
#include "queue/steps.h"

namespace sluice::queue {

inline constexpr kv::WriteOptions kDrain{.write_class = kv::WriteClass::drain};
inline constexpr kv::WriteOptions kGrow{.write_class = kv::WriteClass::grow};

struct QueuesAccess {
  static Status finish(Scope& scope) { return scope.finish(); }
  static bool replayed(const Scope& scope) { return scope.steps_->replayed(); }
  static Shared& shared(Queues& queues) { return queues.inside_->shared; }
};

/// One transaction of `body`, which takes Steps and returns a Status.
template <class Body>
Status run_steps(Queues& queues, const kv::WriteOptions& options, Body body) {
  return status_of(queues.store().run(
      [&](kv::Transaction& txn) -> Status {
        Steps steps(QueuesAccess::shared(queues), txn);
        SLUICE_TRY(body(steps));
        return steps.flush();
      },
      options));
}

}  // namespace sluice::queue
