// SPDX-License-Identifier: MIT
// cancel, retry, edit, hold, unhold.
#include <array>

#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/job_spec.h"
#include "queuectl/jobs.h"
#include "queuectl/retry.h"
#include "queuectl/selection.h"

namespace sluice::cli {
namespace {

constexpr std::array kUnfinished{State::processing, State::pending, State::failed,
                                 State::scheduled,  State::waiting, State::held};
constexpr std::array kHoldable{State::pending, State::failed, State::scheduled, State::waiting};
constexpr std::array kHeld{State::held};
constexpr std::array kRetriable{State::failed, State::dead, State::cancelled};

Result<int> cancel(Context& context, const Arguments& arguments) {
  SLUICE_LET(jobs, select_jobs(context, arguments, kUnfinished));
  SLUICE_LET(queues, context.queues());
  return apply(context, jobs, "cancelled",
               [&](std::span<const queue::JobRef> some) { return queues->cancel(some); });
}

Result<int> hold(Context& context, const Arguments& arguments) {
  SLUICE_LET(jobs, select_jobs(context, arguments, kHoldable));
  SLUICE_LET(queues, context.queues());
  return apply(context, jobs, "held",
               [&](std::span<const queue::JobRef> some) { return queues->hold(some); });
}

Result<int> unhold(Context& context, const Arguments& arguments) {
  SLUICE_LET(jobs, select_jobs(context, arguments, kHeld));
  SLUICE_LET(queues, context.queues());
  return apply(context, jobs, "unheld",
               [&](std::span<const queue::JobRef> some) { return queues->unhold(some); });
}

Result<int> retry(Context& context, const Arguments& arguments) {
  SLUICE_LET(jobs, select_jobs(context, arguments, kRetriable));
  return retry_jobs(context, jobs,
                    {.keep_attempts = arguments.has("--keep-attempts"),
                     .completed_too = arguments.has("--force"),
                     .waiting_too = true});
}

Result<int> edit(Context& context, const Arguments& arguments) {
  SLUICE_LET(jobs, jobs_of(arguments));
  SLUICE_LET(queues, context.queues());
  SLUICE_LET(priority, arguments.number("--priority", INT32_MIN, INT32_MAX));
  SLUICE_LET(delay, arguments.duration("--delay"));
  SLUICE_LET(at, arguments.time("--at", context.clock().wall()));
  const auto text = arguments.text("--command");
  if (!priority && !delay && !at && !text)
    return error(Code::invalid_argument,
                 "say what to change: --priority, --delay, --at or --command");
  if (delay && at) return error(Code::invalid_argument, "--delay and --at exclude each other");
  return apply(context, jobs, "changed", [&](std::span<const queue::JobRef> some) {
    std::vector<Status> results;
    for (const queue::JobRef& ref : some) {
      queue::EditRequest request{.queue = ref.queue, .id = ref.id};
      if (priority) request.priority = static_cast<std::int32_t>(*priority);
      if (at) request.due = *at;
      if (delay) request.due = queues->store().now() + *delay;
      Status ready;
      if (text)
        ready = [&]() -> Status {
          SLUICE_LET(shown, get_job(*queues, ref));
          if (!shown.command)
            return error(Code::conflict, "its payload is not a command of queuectl");
          worker::Command command = *shown.command;
          command.text = *text;
          command.argv.clear();
          SLUICE_TRY(worker::check(command));
          request.payload = worker::encode(command);
          return {};
        }();
      results.push_back(ready.ok() ? queues->edit(request) : ready);
    }
    return results;
  });
}

std::vector<Option> retry_options() {
  std::vector<Option> options = selection_options();
  options.push_back(
      {"--keep-attempts", 0, "", "go on counting runs where it stopped", Takes::nothing});
  options.push_back({"--force", 0, "", "run completed jobs again, too", Takes::nothing});
  return options;
}

}  // namespace

std::vector<Command> change_commands() {
  return {
      {.name = "cancel",
       .alias = "",
       .arguments = "ID... | --all",
       .summary = "cancel jobs; those that run are killed",
       .details =
           "The processes of a running job get SIGTERM, and SIGKILL after its --kill-after.\n"
           "\n"
           "  queuectl cancel job1 job2\n"
           "  queuectl cancel --all --state pending --label nightly",
       .options = selection_options(),
       .takes = Takes::job,
       .run = cancel},
      {.name = "retry",
       .alias = "",
       .arguments = "ID... | --all",
       .summary = "run failed, dead or cancelled jobs again now",
       .details = "Attempts begin again at 0. A job in backoff does not wait any longer.\n"
                  "\n"
                  "  queuectl retry job1\n"
                  "  queuectl retry --all --state dead",
       .options = retry_options(),
       .takes = Takes::job,
       .run = retry},
      {.name = "edit",
       .alias = "",
       .arguments = "ID...",
       .summary = "change the priority, time or command of jobs that have not begun",
       .details = "  queuectl edit job1 --priority -10\n  queuectl edit job1 --at 22:00",
       .options = {{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue},
                   {"--priority", 'p', "N", "lower runs first", Takes::text},
                   {"--delay", 'd', "TIME", "not before this much from now", Takes::text},
                   {"--at", 0, "TIME", "not before this time", Takes::text},
                   {"--command", 'c', "TEXT", "another shell command", Takes::text}},
       .takes = Takes::job,
       .run = edit},
      {.name = "hold",
       .alias = "",
       .arguments = "ID... | --all",
       .summary = "put jobs aside until they are unheld",
       .details = "  queuectl hold job1",
       .options = selection_options(),
       .takes = Takes::job,
       .run = hold},
      {.name = "unhold",
       .alias = "",
       .arguments = "ID... | --all",
       .summary = "let held jobs run",
       .details = "  queuectl unhold --all",
       .options = selection_options(),
       .takes = Takes::job,
       .run = unhold},
  };
}

}  // namespace sluice::cli
