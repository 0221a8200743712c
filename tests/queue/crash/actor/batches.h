// SPDX-License-Identifier: MIT
// The batches of the crash loop: which there are, and whether each has called back as it should.
#pragma once

#include <sluice/queue.h>

#include <string>
#include <vector>

namespace sluice::test {

/// A new batch of queue k that calls back to kBatchCalls. Its id begins with the time and ends with
/// `name`.
Result<std::string> open_batch(queue::Queues& queues, const std::string& name);

/// A sentence for each batch that called back without having ended, not at all, or twice.
Result<std::vector<std::string>> judge_batches(queue::Queues& queues);

/// Seals what a kill has left open.
Status seal_batches(queue::Queues& queues);
/// All are sealed and all members finished: an error unless all end within the patience.
Status end_batches(queue::Queues& queues);
/// Forgets the callbacks, and judges only batches from now on.
Status forget_batches(queue::Queues& queues);

}  // namespace sluice::test
