// SPDX-License-Identifier: MIT
// The calls that the model test makes, drawn by chance.
#pragma once

#include <rapidcheck.h>
#include <sluice/job.h>

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/queue/model/model.h"

namespace sluice::queue::model {

// Swept in this order, by name as well as by hash, so that places agree over queues.
inline const std::vector<std::string> kQueues = {"mail", "work"};
// By hash: blue, alpha, no group, beta.
inline const std::vector<std::string> kGroups = {"", "alpha", "beta", "blue"};
inline constexpr std::size_t kBatchNames = 2;
inline constexpr std::size_t kScheduleNames = 2;

/// Which job to wait for.
struct AfterPick {
  enum Kind {
    own,      ///< One of the same queue, counted from the newest,
    other,    ///< or of the other queue.
    near,     ///< The job before it in the same call, or the job whose ack it is part of.
    by_name,  ///< Perhaps there is none.
    spelled   ///< As `own`, with the queue's name.
  };
  Kind kind = own;
  std::size_t job = 0;
  AfterPolicy policy = AfterPolicy::success;
};

/// What goes beyond a single job.
struct Flow {
  std::optional<Unique> unique = {};
  std::vector<AfterPick> after = {};
  std::optional<std::size_t> batch = {};
};

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
    advance,
    advance_far,
    add_after,
    open_batch,
    seal_batch,
    cancel_batch,
    put_schedule,
    pause_schedule,
    resume_schedule,
    run_schedule,
    remove_schedule
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
  Flow flow = {};
};

/// For the sequence that a failing run prints.
std::ostream& operator<<(std::ostream& out, const Flow& flow);
std::ostream& operator<<(std::ostream& out, const Command& command);

/// Of two sorts: the one is about limits, order and time, the other about what goes beyond a single
/// job.
rc::Gen<std::vector<Command>> sequences(bool about_flows);

}  // namespace sluice::queue::model
