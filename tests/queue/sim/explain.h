// SPDX-License-Identifier: MIT
// Whether what became of one job can be explained by the calls that were made and by the passing of
// time: a search over the table of docs/design/queue.md, written down a second time.
#pragma once

#include <sluice/job.h>

#include <optional>
#include <vector>

#include "tests/queue/sim/call.h"

namespace sluice::queue::sim {

/// Something that may have happened to the job, at most once.
struct Move {
  const Call* call = nullptr;
  const Item* item = nullptr;  ///< Null for claim and purge.
  bool must = false;           ///< It was acknowledged, so it has happened.
};

struct Circumstances {
  WallTime now = {};
  /// The queue's settings, as they were and as they are.
  const QueueConfig* before = nullptr;
  const QueueConfig* after = nullptr;
  std::vector<Move> moves = {};
};

struct Path {
  bool new_place = false;  ///< It got a new place in the ready lane on the way.
};

/// The shortest way from `before` to `after` (null: it is gone), through all the moves that must
/// have happened and any of the others; nothing if there is none.
std::optional<Path> explain(const Job& before, const Job* after, const Circumstances& about);

/// The same for a job that has just been enqueued as `job` by `call`.
std::optional<Path> explain_new(const NewJob& job, const Call& call, const Job& after,
                                const Circumstances& about);

/// What `lane` says of a verb by an operator, or ok.
Code operator_answer(Verb verb, std::optional<Lane> lane);

}  // namespace sluice::queue::sim
