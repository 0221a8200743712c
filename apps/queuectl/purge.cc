// SPDX-License-Identifier: MIT
#include "queuectl/purge.h"

#include <unistd.h>

#include <algorithm>

#include "cli/size.h"
#include "queuectl/jobs.h"
#include "worker/places.h"

namespace sluice::cli {
namespace {

// Runs further back have most likely been removed by age; each costs a system call to try.
constexpr std::uint64_t kRunsTried = 100;

void remove_logs(const std::string& dir, const queue::Job& job) {
  const std::uint64_t first = job.claims > kRunsTried ? job.claims - kRunsTried : 1;
  for (std::uint64_t claim = first; claim <= job.claims; ++claim)
    unlink(worker::log_path(dir, {job.number, claim}).c_str());
}

/// Up to 1,000 of them; the number removed.
Result<std::uint64_t> purge_some(const Context& context, queue::Queues& queues,
                                 const std::string& queue, State state, WallTime before) {
  auto page = queues.list({.queue = queue, .lane = lane_of(state), .limit = queue::kPageMax});
  if (!page && page.error().code() == Code::not_found) return 0;
  SLUICE_TRY(page);
  std::vector<queue::JobRef> refs;
  std::vector<const queue::Job*> jobs;
  for (const queue::Job& job : page->jobs) {
    if (job.finished.value_or(before) > before) break;  // In the order in which they finished.
    refs.push_back({.queue = queue, .id = job.id});
    jobs.push_back(&job);
  }
  std::uint64_t removed = 0;
  const auto results = queues.remove(refs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) {
      if (results[i].code() == Code::not_found || results[i].code() == Code::conflict) continue;
      return Failure{results[i]};
    }
    remove_logs(context.dir(), *jobs[i]);
    ++removed;
  }
  return removed;
}

}  // namespace

Result<int> purge(Context& context, const std::string& queue, std::span<const State> states,
                  Duration older_than) {
  SLUICE_LET(queues, context.queues());
  const WallTime before = queues->store().now() - older_than;
  std::uint64_t total = 0;
  for (const State state : states)
    for (;;) {
      SLUICE_LET(removed, purge_some(context, *queues, queue, state, before));
      total += removed;
      if (removed == 0) break;
    }
  context.say(plural(total, "job") + " removed");
  return kOk;
}

}  // namespace sluice::cli
