// SPDX-License-Identifier: MIT
// The dead-letter queue: jobs that were given up.
#include <array>

#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/jobs.h"
#include "queuectl/purge.h"
#include "queuectl/retry.h"
#include "queuectl/selection.h"

namespace sluice::cli {
namespace {

constexpr std::array kDead{State::dead};

/// The command of that name, for dead jobs.
Result<int> forward(Context& context, std::string_view name, const Arguments& arguments,
                    std::vector<std::string> more) {
  for (const Command& command : all_commands()) {
    if (command.name != name) continue;
    if (const auto queue = arguments.text("--queue")) {
      more.emplace_back("--queue");
      more.push_back(*queue);
    }
    if (const auto limit = arguments.text("--limit")) {
      more.emplace_back("--limit");
      more.push_back(*limit);
    }
    SLUICE_LET(forwarded, Arguments::parse(command, more));
    return command.run(context, forwarded);
  }
  return error(Code::not_found, "no such command");
}

Result<int> dlq_list(Context& context, const Arguments& arguments) {
  return forward(context, "list", arguments, {"--state", "dead"});
}

Result<int> dlq_show(Context& context, const Arguments& arguments) {
  SLUICE_LET(refs, jobs_of(arguments));
  SLUICE_LET(queues, context.queues());
  for (const queue::JobRef& ref : refs) {
    SLUICE_LET(shown, get_job(*queues, ref));
    if (shown.state != State::dead)
      return error(Code::conflict, ref.id + " is " + std::string(state_name(shown.state)) +
                                       ": only dead jobs are in the dead-letter queue");
  }
  return forward(context, "show", arguments, arguments.words());
}

Result<int> dlq_retry(Context& context, const Arguments& arguments) {
  SLUICE_LET(jobs, select_jobs(context, arguments, kDead));
  if (jobs.empty()) {
    context.say("the dead-letter queue is empty");
    return kOk;
  }
  return retry_jobs(context, jobs, {.keep_attempts = arguments.has("--keep-attempts")});
}

Result<int> dlq_purge(Context& context, const Arguments& arguments) {
  SLUICE_LET(older, arguments.duration("--older-than"));
  return purge(context, queue_of(arguments), kDead, older.value_or(Duration{}));
}

}  // namespace

std::vector<Command> dlq_commands() {
  const Option queue{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue};
  std::vector<Option> retry = selection_options();
  retry.push_back(
      {"--keep-attempts", 0, "", "go on counting runs where it stopped", Takes::nothing});
  return {
      {.name = "dlq list",
       .alias = "",
       .arguments = "",
       .summary = "list dead jobs, with their last error",
       .details = "",
       .options = {queue, {"--limit", 'n', "N", "at most this many; 0: all", Takes::text}},
       .takes = Takes::nothing,
       .run = dlq_list},
      {.name = "dlq show",
       .alias = "",
       .arguments = "ID...",
       .summary = "show dead jobs with all of their runs",
       .details = "",
       .options = {queue},
       .takes = Takes::job,
       .run = dlq_show},
      {.name = "dlq retry",
       .alias = "",
       .arguments = "ID... | --all",
       .summary = "run dead jobs again, with attempts counted from 0",
       .details = "  queuectl dlq retry job1\n  queuectl dlq retry --all",
       .options = retry,
       .takes = Takes::job,
       .run = dlq_retry},
      {.name = "dlq purge",
       .alias = "",
       .arguments = "",
       .summary = "remove dead jobs and their logs for good",
       .details = "  queuectl dlq purge --older-than 30d",
       .options = {queue, {"--older-than", 0, "TIME", "only those that died before", Takes::text}},
       .takes = Takes::nothing,
       .run = dlq_purge},
  };
}

}  // namespace sluice::cli
