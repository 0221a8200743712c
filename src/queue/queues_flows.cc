// SPDX-License-Identifier: MIT
// Queues: schedules, each call a transaction of its own.
#include <sluice/queue.h>

#include "queue/access.h"
#include "queue/schedule.h"

namespace sluice::queue {

Status Queues::put_schedule(const NewSchedule& schedule) {
  return run_steps(*this, kGrow,
                   [&](Steps& steps) { return queue::put_schedule(steps, schedule); });
}

Status Queues::pause_schedule(std::string_view queue, std::string_view name) {
  return run_steps(*this, kDrain,
                   [&](Steps& steps) { return set_schedule_paused(steps, queue, name, true); });
}

Status Queues::resume_schedule(std::string_view queue, std::string_view name) {
  return run_steps(*this, kDrain,
                   [&](Steps& steps) { return set_schedule_paused(steps, queue, name, false); });
}

Result<std::string> Queues::run_schedule(std::string_view queue, std::string_view name) {
  std::string id;
  SLUICE_TRY(run_steps(*this, kGrow, [&](Steps& steps) -> Status {
    SLUICE_LET(made, queue::run_schedule(steps, queue, name));
    id = made;
    return {};
  }));
  return id;
}

Status Queues::remove_schedule(std::string_view queue, std::string_view name) {
  return run_steps(*this, kDrain,
                   [&](Steps& steps) { return queue::remove_schedule(steps, queue, name); });
}

}  // namespace sluice::queue
