// SPDX-License-Identifier: MIT
#include "worker/follow_up.h"

#include <string>

namespace sluice::worker {

std::optional<queue::NewJob> follow_up(const queue::JobRef& job, std::int32_t priority,
                                       const Command& command, const Report& report, bool dead) {
  if (command.on_done.empty()) return {};
  Command next{.text = command.on_done,
               .cwd = command.cwd,
               .environment = command.environment,
               .set = command.set,
               .label = "after " + job.id};
  next.set.push_back("QUEUECTL_DONE_ID=" + job.id);
  next.set.push_back(std::string("QUEUECTL_DONE_STATE=") + (dead ? "dead" : "completed"));
  next.set.push_back("QUEUECTL_DONE_EXIT_CODE=" + std::to_string(report.exit_code.value_or(-1)));
  return queue::NewJob{.queue = job.queue, .payload = encode(next), .priority = priority};
}

}  // namespace sluice::worker
