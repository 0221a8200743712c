// SPDX-License-Identifier: MIT
#include "queuectl/jobs.h"

#include "cli/visible.h"
#include "exec/lock_file.h"
#include "worker/places.h"

namespace sluice::cli {
namespace {

bool matches(const JobQuery& query, State state, const JobView& view) {
  if (view.state != state) return false;
  return query.label.empty() || (view.command && view.command->label == query.label);
}

/// Of one state; `left` counts down. False: enough.
Result<bool> each_of_state(queue::Queues& queues, const JobQuery& query, State state,
                           std::uint64_t& left,
                           const std::function<Result<bool>(JobView&)>& visit) {
  queue::ListRequest request{.queue = query.queue,
                             .lane = lane_of(state),
                             .group = query.group,
                             .limit = queue::kPageMax,
                             .payload = true};
  do {
    auto page = queues.list(request);
    if (!page && page.error().code() == Code::not_found) return true;
    SLUICE_TRY(page);
    for (queue::Job& job : page->jobs) {
      JobView shown = view(std::move(job));
      if (!matches(query, state, shown)) continue;
      if (left-- == 0) return false;
      SLUICE_LET(go_on, visit(shown));
      if (!go_on) return false;
    }
    request.after = page->next;
  } while (!request.after.empty());
  return true;
}

}  // namespace

Status each_job(queue::Queues& queues, const JobQuery& query,
                const std::function<Result<bool>(JobView&)>& visit) {
  std::uint64_t left = query.limit;
  for (const State state : query.states) {
    SLUICE_LET(go_on, each_of_state(queues, query, state, left, visit));
    if (!go_on) return {};
  }
  return {};
}

Result<JobView> get_job(queue::Queues& queues, const queue::JobRef& ref,
                        const queue::GetOptions& options) {
  auto job = queues.get(ref, options);
  if (job) return view(std::move(*job));
  if (job.error().code() != Code::not_found) return Failure{job.error()};
  return error(Code::not_found, "there is no job " + in_quotes(ref.id) + " in the queue " +
                                    in_quotes(ref.queue) + ": see queuectl list");
}

Status add_history(queue::Queues& queues, JobView& view) {
  auto job = queues.get({view.job.queue, view.job.id}, {.history = true});
  if (!job && job.error().code() == Code::not_found) return {};
  SLUICE_TRY(job);
  view.job.history = std::move(job->history);
  return {};
}

Result<StateCounts> count_states(queue::Queues& queues, const std::string& queue) {
  StateCounts counts{};
  SLUICE_LET(kept, queues.count(queue));
  for (std::size_t i = 0; i < kStateCount; ++i) {
    const auto state = static_cast<State>(i);
    counts[i] = kept.of(lane_of(state));
  }
  std::uint64_t& failed = counts[static_cast<std::size_t>(State::failed)];
  failed = 0;
  queue::ListRequest request{
      .queue = queue, .lane = queue::Lane::scheduled, .limit = queue::kPageMax};
  do {
    SLUICE_LET(page, queues.list(request));
    for (const queue::Job& job : page.jobs) failed += job.attempts > 0 ? 1 : 0;
    request.after = page.next;
  } while (!request.after.empty());
  std::uint64_t& scheduled = counts[static_cast<std::size_t>(State::scheduled)];
  scheduled -= std::min(scheduled, failed);
  return counts;
}

Result<std::vector<worker::LiveWorker>> live_workers(Context& context) {
  SLUICE_LET(queues, context.queues());
  SLUICE_LET(locks, exec::LockFile::open(worker::lock_path(context.dir())));
  return worker::look_at_workers(*queues, locks);
}

}  // namespace sluice::cli
