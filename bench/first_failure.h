// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/result.h>

#include "base/mutex.h"

namespace sluice::bench {

/// The first failure of several threads.
class FirstFailure {
 public:
  void note(const Status& status) {
    const MutexLock lock(mutex_);
    if (status_.ok()) status_ = status;
  }
  Status get() {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  Mutex mutex_;
  Status status_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::bench
