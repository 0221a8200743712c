// SPDX-License-Identifier: MIT
// Operation ids: the outcome of a call, stored with it, so that the same call can be answered again
// without being done again.
#pragma once

#include <sluice/job.h>
#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "queue/steps.h"

namespace sluice::queue {

/// What became of one item: a refusal with its message, or success with the verb's answer.
struct ItemOutcome {
  Code code = Code::ok;
  std::string text = {};
};

/// One call that named an operation id (or none: then nothing is looked up or stored).
class Operation {
 public:
  /// `queue` need not exist. `request` is what identifies the call besides its verb.
  Operation(std::string_view queue, std::string_view id, std::string_view verb,
            std::string_view request);

  /// The outcome of the same call before, if it is known. `invalid_argument` if the id was used for
  /// another call.
  Result<std::optional<std::vector<ItemOutcome>>> find(Steps& steps) const;
  /// Stores the outcome, unless every item was refused: then nothing happened.
  void store(Steps& steps, const std::vector<ItemOutcome>& outcome) const;

 private:
  Keys keys_;
  std::string id_;
  std::string verb_;
  std::uint32_t request_;
};

/// When the oldest operation of a queue may be forgotten.
Result<std::optional<Millis>> next_forgotten_operation(kv::Reader& reader, const Keys& keys);
/// Forgets the operations whose time is over.
void forget_operations(Steps& steps, const QueueState& queue);

}  // namespace sluice::queue
