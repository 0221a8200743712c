// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/queue.h>

#include <span>

#include "queuectl/context.h"

namespace sluice::cli {

struct RetryHow {
  bool keep_attempts = false;
  bool completed_too = false;  ///< Otherwise a completed job is a `conflict`.
  bool waiting_too = false;    ///< A job in backoff is made due at once; otherwise a `conflict`.
};

/// Runs finished jobs again. Says how it went, as apply() does.
Result<int> retry_jobs(Context& context, std::span<const queue::JobRef> jobs, const RetryHow& how);

}  // namespace sluice::cli
