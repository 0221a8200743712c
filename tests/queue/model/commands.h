// SPDX-License-Identifier: MIT
// The calls that the model test makes, drawn by chance.
#pragma once

#include <rapidcheck.h>
#include <sluice/job.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "tests/queue/model/model.h"

namespace sluice::queue::model {

// Swept in this order, by name as well as by hash, so that places agree over queues.
inline const std::vector<std::string> kQueues = {"mail", "work"};
// By hash: blue, alpha, no group, beta.
inline const std::vector<std::string> kGroups = {"", "alpha", "beta", "blue"};

struct Command {
  enum Kind {
    enqueue,
    enqueue_batch,
    claim,
    extend,
    ack,
    ack_batch,
    fail,
    release,
    cancel,
    requeue,
    edit,
    hold,
    unhold,
    break_lease,
    remove,
    configure,
    limit_group,
    pause,
    resume,
    purge,
    remove_queue,
    sweep,
    advance
  };
  Kind kind = enqueue;
  std::size_t queue = 0;
  std::size_t job = 0;    ///< Which job or which token, counted from the newest; or an id.
  std::size_t group = 0;  ///< In kGroups.
  int number = 0;         ///< A count, a priority or a limit.
  Ms time = 0;            ///< A delay, a lease, a step.
  Ms ttl = 0;
  bool flag = false;
  QueueConfig config = {};
};

/// For the sequence that a failing run prints.
std::ostream& operator<<(std::ostream& out, const Command& command);

rc::Gen<Command> commands();

}  // namespace sluice::queue::model
