// SPDX-License-Identifier: MIT
// The agenda of a queue: what is to be done, and when (docs/design/flows.md).
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

struct AgendaEntry {
  Millis at = 0;
  Errand errand = Errand::fire;
  std::string subject = {};
};
Result<AgendaEntry> read_agenda_key(std::string_view key);

/// What was done, by kind.
struct AgendaWork {
  std::size_t fired = 0;
  std::size_t released = 0;
  std::size_t batches = 0;
  std::size_t others = 0;  ///< Notes that had nothing more to say.

  std::size_t total() const { return fired + released + batches + others; }
};

/// Does what is due, at most `steps_max` steps of it.
Result<AgendaWork> work_agenda(Steps& steps, QueueState& queue, std::size_t steps_max);

/// When there is something to do next.
Result<std::optional<Millis>> next_errand(kv::Reader& reader, const Keys& keys);

}  // namespace sluice::queue
