// SPDX-License-Identifier: MIT
// completion, and what its scripts ask for.
#include "cli/completion.h"

#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/config.h"
#include "queuectl/context.h"
#include "queuectl/job_view.h"
#include "queuectl/jobs.h"

namespace sluice::cli {
namespace {

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

Offers offers() {
  std::vector<std::string_view> states;
  for (std::size_t i = 0; i < kStateCount; ++i) states.push_back(state_name(static_cast<State>(i)));
  std::vector<std::string_view> keys;
  for (const ConfigKey& key : config_keys()) keys.push_back(key.name);
  return {.words = {{Takes::state, joined(states)}, {Takes::key, joined(keys)}},
          .asked = {{Takes::job, "jobs"}, {Takes::queue, "queues"}, {Takes::worker, "workers"}},
          .question = complete_command()};
}

Result<int> completion(Context& context, const Arguments& arguments) {
  const std::string shell = arguments.words().empty() ? "" : arguments.words().front();
  SLUICE_LET(script, completion_script(shell, offers()));
  context.print(script);
  return kOk;
}

Result<int> complete(Context& context, const Arguments& arguments) {
  constexpr std::size_t kWordsMax = 200;
  const std::string what = arguments.words().empty() ? "" : arguments.words().front();
  SLUICE_LET(queues, context.queues());
  std::string text;
  if (what == "queues") {
    SLUICE_LET(all, queues->list_queues());
    for (const queue::Queue& one : all) text += visible(one.name) + "\n";
  } else if (what == "workers") {
    SLUICE_LET(all, live_workers(context));
    for (const worker::LiveWorker& one : all) text += short_worker(one.worker.name) + "\n";
  } else {
    SLUICE_LET(page, queues->list({.queue = queue_of(arguments), .limit = kWordsMax}));
    for (const queue::Job& job : page.jobs) text += visible(job.id) + "\n";
  }
  context.print(text);
  return kOk;
}

}  // namespace

Command complete_command() {
  return {.name = "__complete",
          .alias = "",
          .arguments = "jobs | queues | workers",
          .summary = "print words that there are, for completion",
          .details = "",
          .options = {{"--queue", 'Q', "NAME", "whose jobs; default: default", Takes::queue, true}},
          .takes = Takes::text,
          .run = complete};
}

std::vector<Command> completion_commands() {
  return {
      {.name = "completion",
       .alias = "",
       .arguments = "bash | zsh | fish",
       .summary = "print a script that completes commands, options, jobs and queues",
       .details = "  source <(queuectl completion bash)",
       .options = {},
       .takes = Takes::shell,
       .run = completion},
  };
}

}  // namespace sluice::cli
