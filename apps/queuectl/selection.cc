// SPDX-License-Identifier: MIT
#include "queuectl/selection.h"

#include <algorithm>

#include "cli/size.h"
#include "cli/visible.h"
#include "queuectl/jobs.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kFailuresShown = 20;

/// The queue layer speaks of lanes; people know states.
std::string in_words(const Status& status, const queue::JobRef& job) {
  if (status.code() == Code::not_found)
    return "there is no job " + in_quotes(job.id) + " in the queue " + in_quotes(job.queue);
  return visible(job.id) + ": " + visible(status.message());
}

}  // namespace

std::vector<Option> selection_options() {
  return {{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue},
          {"--all", 'a', "", "all jobs that the command can be used on", Takes::nothing},
          {"--state", 's', "STATE", "with --all: only in this state", Takes::state, true},
          {"--group", 'g', "NAME", "with --all: only of this group", Takes::text},
          {"--label", 'l', "TEXT", "with --all: only with this label", Takes::text}};
}

Result<std::vector<queue::JobRef>> select_jobs(Context& context, const Arguments& arguments,
                                               std::span<const State> states) {
  if (!arguments.has("--all")) return jobs_of(arguments);
  if (!arguments.words().empty())
    return error(Code::invalid_argument, "give ids or --all, not both");
  JobQuery query{.queue = queue_of(arguments), .states = {states.begin(), states.end()}};
  if (arguments.has("--state")) query.states.clear();
  for (const std::string& name : arguments.all("--state")) {
    SLUICE_LET(state, parse_state(name));
    if (std::ranges::find(states, state) == states.end())
      return error(Code::invalid_argument, "this cannot be done to jobs that are " + name);
    query.states.push_back(state);
  }
  query.group = arguments.text("--group").value_or("");
  query.label = arguments.text("--label").value_or("");
  SLUICE_LET(queues, context.queues());
  std::vector<queue::JobRef> jobs;
  SLUICE_TRY(each_job(*queues, query, [&](JobView& view) -> Result<bool> {
    jobs.push_back({.queue = view.job.queue, .id = view.job.id});
    return true;
  }));
  return jobs;
}

Result<int> apply(Context& context, std::span<const queue::JobRef> jobs, std::string_view past,
                  const Verb& verb) {
  std::size_t done = 0;
  std::size_t failed = 0;
  int code = kOk;
  for (std::size_t at = 0; at < jobs.size(); at += queue::kBatchJobsMax) {
    const auto some = jobs.subspan(at, std::min(queue::kBatchJobsMax, jobs.size() - at));
    const std::vector<Status> results = verb(some);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].ok()) {
        ++done;
        continue;
      }
      if (failed++ == 0) code = code_info(results[i].code()).exit_code;
      if (failed <= kFailuresShown) context.warn(in_words(results[i], some[i]));
    }
  }
  if (failed > kFailuresShown)
    context.warn("... and " + format_count(failed - kFailuresShown) + " more");
  if (done > 0 || failed == 0) context.say(plural(done, "job") + " " + std::string(past));
  return code;
}

}  // namespace sluice::cli
