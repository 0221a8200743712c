// SPDX-License-Identifier: MIT
#include "tests/queue/sim/sight.h"

#include <algorithm>
#include <utility>

namespace sluice::queue::sim {
namespace {

Status look_at_jobs(Queues& queues, QueueSight& sight) {
  ListRequest request{.queue = sight.queue.name, .limit = kPageMax, .payload = true};
  do {
    SLUICE_LET(page, queues.list(request));
    for (Job& job : page.jobs) sight.jobs.push_back({.job = std::move(job)});
    request.after = page.next;
  } while (!request.after.empty());
  std::ranges::sort(sight.jobs, {}, [](const Seen& seen) { return seen.job.number; });
  return {};
}

}  // namespace

const Seen* QueueSight::by_number(const kv::Mark& number) const {
  const auto at =
      std::ranges::lower_bound(jobs, number, {}, [](const Seen& seen) { return seen.job.number; });
  return at != jobs.end() && at->job.number == number ? &*at : nullptr;
}

const Seen* QueueSight::by_id(std::string_view id) const {
  const auto at =
      std::ranges::find(jobs, id, [](const Seen& seen) -> std::string_view { return seen.job.id; });
  return at != jobs.end() ? &*at : nullptr;
}

std::uint64_t QueueSight::active() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(jobs, &Seen::leased));
}

std::uint64_t QueueSight::active(std::string_view group) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      jobs, [&](const Seen& seen) { return seen.leased() && seen.job.group == group; }));
}

std::uint64_t QueueSight::backlog() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      jobs, [](const Seen& seen) { return !seen.leased() && !seen.finished(); }));
}

std::optional<std::uint32_t> QueueSight::limit_of(std::string_view group) const {
  if (group.empty()) return std::nullopt;
  for (const Group& known : groups)
    if (known.name == group && known.limit) return known.limit;
  return queue.config.group_max;
}

bool QueueSight::group_full(std::string_view group) const {
  const auto limit = limit_of(group);
  return limit && active(group) >= *limit;
}

const QueueSight* Sight::find(std::string_view queue) const {
  for (const QueueSight& sight : queues)
    if (sight.queue.name == queue) return &sight;
  return nullptr;
}

std::size_t Sight::job_count() const {
  std::size_t count = 0;
  for (const QueueSight& sight : queues) count += sight.jobs.size();
  return count;
}

Result<std::shared_ptr<Sight>> look(Queues& queues, const std::vector<std::string>& names) {
  auto sight = std::make_shared<Sight>();
  for (const std::string& name : names) {
    auto queue = queues.get_queue(name);
    if (!queue && queue.error().code() == Code::not_found) continue;
    if (!queue) return Failure{std::move(queue).error()};
    SLUICE_LET(groups, queues.list_groups(name));
    sight->queues.push_back({.queue = *std::move(queue), .groups = std::move(groups)});
    SLUICE_TRY(look_at_jobs(queues, sight->queues.back()));
  }
  return sight;
}

}  // namespace sluice::queue::sim
