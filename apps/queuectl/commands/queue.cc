// SPDX-License-Identifier: MIT
// pause, resume, purge.
#include <algorithm>
#include <array>

#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/purge.h"

namespace sluice::cli {
namespace {

constexpr std::array kPurged{State::completed, State::cancelled};
constexpr std::array kFinished{State::completed, State::cancelled, State::dead};

Result<int> set_paused(Context& context, const Arguments& arguments, bool paused) {
  const std::string name =
      arguments.words().empty() ? queue_of(arguments) : arguments.words().front();
  SLUICE_TRY(context.prepare_queue(name));
  SLUICE_LET(queues, context.queues());
  SLUICE_TRY(paused ? queues->pause(name) : queues->resume(name));
  context.say("the queue " + visible(name) + (paused ? " is paused" : " goes on"));
  return kOk;
}

Result<int> pause(Context& context, const Arguments& arguments) {
  return set_paused(context, arguments, true);
}

Result<int> resume(Context& context, const Arguments& arguments) {
  return set_paused(context, arguments, false);
}

Result<int> purge_command(Context& context, const Arguments& arguments) {
  SLUICE_LET(older, arguments.duration("--older-than"));
  std::vector<State> states(kPurged.begin(), kPurged.end());
  if (arguments.has("--state")) states.clear();
  for (const std::string& name : arguments.all("--state")) {
    SLUICE_LET(state, parse_state(name));
    if (std::ranges::find(kFinished, state) == kFinished.end())
      return error(
          Code::invalid_argument,
          "only completed, cancelled and dead jobs can be purged: cancel the others first");
    states.push_back(state);
  }
  return purge(context, queue_of(arguments), states, older.value_or(Duration{}));
}

}  // namespace

std::vector<Command> queue_commands() {
  const Option queue{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue};
  return {
      {.name = "pause",
       .alias = "",
       .arguments = "[QUEUE]",
       .summary = "start no more jobs of a queue; those that run go on",
       .details = "",
       .options = {queue},
       .takes = Takes::queue,
       .run = pause},
      {.name = "resume",
       .alias = "",
       .arguments = "[QUEUE]",
       .summary = "let a paused queue go on",
       .details = "",
       .options = {queue},
       .takes = Takes::queue,
       .run = resume},
      {.name = "purge",
       .alias = "",
       .arguments = "",
       .summary = "remove completed and cancelled jobs and their logs for good",
       .details = "Workers do this by themselves after the setting keep-completed.\n"
                  "\n"
                  "  queuectl purge --older-than 7d",
       .options = {queue,
                   {"--older-than", 0, "TIME", "only jobs finished before", Takes::text},
                   {"--state", 's', "STATE", "completed, cancelled or dead", Takes::state, true}},
       .takes = Takes::nothing,
       .run = purge_command},
  };
}

}  // namespace sluice::cli
