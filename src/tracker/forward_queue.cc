// SPDX-License-Identifier: MIT
#include "tracker/forward_queue.h"

#include "base/check.h"
#include "tracker/forward_options.h"

namespace sluice::tracker {

ForwardQueue::ForwardQueue(JobTable& jobs, std::int64_t capacity)
    : jobs_(jobs),
      capacity_(static_cast<std::size_t>(capacity > 0 ? capacity : kQueueCapacityFallback)) {}

void ForwardQueue::push(JobId id) {
  const Job& job = jobs_[id];
  SLUICE_CHECK(job.state != JobState::queued && job.upstream != kNobody);
  const auto priority = static_cast<std::size_t>(job.priority);
  if (job.upstream >= lines_.size()) lines_.resize(job.upstream + std::size_t{1});
  lines_[job.upstream][priority].push_back(jobs_.all(), id);
  ranks_[priority].push_back(jobs_.all(), id);
  jobs_.set_state(id, JobState::queued);
  ++depth_;
}

void ForwardQueue::remove(JobId id) {
  const Job& job = jobs_[id];
  SLUICE_CHECK(job.state == JobState::queued);
  const auto priority = static_cast<std::size_t>(job.priority);
  lines_[job.upstream][priority].remove(jobs_.all(), id);
  ranks_[priority].remove(jobs_.all(), id);
  jobs_.set_state(id, JobState::idle);
  --depth_;
}

std::size_t ForwardQueue::count(UpstreamId upstream) const {
  std::size_t count = 0;
  if (upstream >= lines_.size()) return count;
  for (const JobLine& line : lines_[upstream]) count += line.size();
  return count;
}

JobId ForwardQueue::first(UpstreamId upstream) const {
  if (upstream >= lines_.size()) return kNobody;
  for (const JobLine& line : lines_[upstream])
    if (!line.empty()) return line.first();
  return kNobody;
}

JobId ForwardQueue::least() const {
  for (std::size_t priority = kJobPriorities; priority-- > 0;)
    if (!ranks_[priority].empty()) return ranks_[priority].last();
  return kNobody;
}

}  // namespace sluice::tracker
