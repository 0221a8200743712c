// SPDX-License-Identifier: MIT
// The model's order, limits and groups; its settings; looking.
#include <openssl/sha.h>

#include <algorithm>
#include <tuple>

#include "tests/queue/model/model.h"

namespace sluice::queue::model {

namespace {

using std::chrono::milliseconds;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

BucketLimit bucket_limit(const Rate& rate) {
  return {.tokens = rate.jobs, .per = rate.per, .burst = rate.burst};
}

bool comes_before(const Job& a, const Job& b) {
  return std::tuple(a.priority, a.place) < std::tuple(b.priority, b.place);
}

}  // namespace

std::string group_hash(const std::string& name) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(name.data()), name.size(), digest);
  return {reinterpret_cast<const char*>(digest), 16};
}

bool Model::has_slot(const Queue& queue, const std::string& group) const {
  if (group.empty()) return true;
  const auto own = queue.groups.find(group);
  const auto limit =
      own != queue.groups.end() && own->second.limit ? own->second.limit : queue.config.group_max;
  const auto active = std::ranges::count_if(queue.jobs, [&](const auto& entry) {
    return entry.second.group == group && entry.second.lane == Lane::leased;
  });
  return !limit || static_cast<std::uint64_t>(active) < *limit;
}

// At the end of a call. A group that begins to offer something stands at the round after the one
// that claims have reached.
Code Model::settled(Code code) {
  for (auto& [name, queue] : queues_) {
    for (const std::string& group : queue.touched) settle(queue, group);
    queue.touched.clear();
    queue.reconsider.clear();
  }
  return code;
}

void Model::settle(Queue& queue, const std::string& name) {
  Group& group = queue.groups[name];
  // An offer is looked at again only if something calls for it; a lowered limit alone does not.
  const bool stays = group.offered && !queue.reconsider.contains(name);
  const bool offers = first_ready(queue, name) != nullptr && (stays || has_slot(queue, name));
  if (offers && !group.offered) group.round = queue.round + 1;
  group.offered = offers;
  const bool used = std::ranges::any_of(
      queue.jobs, [&](const auto& entry) { return entry.second.group == name; });
  if (!used && !group.limit) queue.groups.erase(name);
}

// Blocked groups are looked at again.
std::uint64_t Model::review(Queue& queue) {
  std::uint64_t reviewed = 0;
  for (const auto& [name, group] : queue.groups)
    if (queue.reviewing && !group.offered && first_ready(queue, name) != nullptr) {
      queue.touched.insert(name);
      ++reviewed;
    }
  queue.reviewing = false;
  return reviewed;
}

bool Model::may_claim(const Queue& queue) const {
  if (queue.paused) return false;
  std::uint64_t active = 0;
  for (const auto& [id, job] : queue.jobs) active += job.lane == Lane::leased ? 1 : 0;
  if (queue.config.active_max && active >= *queue.config.active_max) return false;
  return !queue.config.rate ||
         take(bucket_limit(*queue.config.rate), queue.bucket, milliseconds(now), 1).taken;
}

Job* Model::first_ready(Queue& queue, const std::string& group) {
  Job* first = nullptr;
  for (auto& [id, job] : queue.jobs)
    if (job.lane == Lane::ready && job.group == group &&
        (first == nullptr || comes_before(job, *first)))
      first = &job;
  return first;
}

// A fair queue offers groups by their rounds. Otherwise a group is offered at the place of its
// first job, and jobs without a group one by one.
std::vector<Model::Offer> Model::offers(Queue& queue, const std::vector<std::string>& skip) {
  std::vector<Offer> found;
  for (const auto& [name, group] : queue.groups) {
    Job* first = first_ready(queue, name);
    if (!group.offered || contains(skip, name) || first == nullptr) continue;
    if (queue.config.fair)
      found.push_back({.order = static_cast<std::int64_t>(group.round),
                       .hash = group_hash(name),
                       .job = first});
    else if (!name.empty())
      found.push_back({.order = first->priority, .place = first->place, .job = first});
  }
  for (auto& [id, job] : queue.jobs)
    if (!queue.config.fair && job.lane == Lane::ready && job.group.empty())
      found.push_back({.order = job.priority, .place = job.place, .job = &job});
  std::ranges::sort(found, {}, [](const Offer& offer) {
    return std::tuple(offer.order, offer.place, offer.hash);
  });
  return found;
}

// On the way a group that is over its limit is blocked, and what is past its time to live buried.
Job* Model::next_job(Queue& queue, const std::vector<std::string>& skip) {
  while (may_claim(queue)) {
    Job* expired = nullptr;
    for (const Offer& offer : offers(queue, skip)) {
      if (!has_slot(queue, offer.job->group)) {
        queue.touched.insert(offer.job->group);
        queue.reconsider.insert(offer.job->group);
        continue;
      }
      if (offer.job->expires > now) return offer.job;
      expired = offer.job;
      break;
    }
    if (expired == nullptr) break;
    finish(queue, *expired, Lane::dead, DeathReason::expired);
  }
  return nullptr;
}

Claim Model::lease_out(const std::string& name, Job& job, const ClaimRequest& request) {
  Queue& queue = queues_[name];
  if (queue.config.rate)
    queue.bucket =
        sluice::take(bucket_limit(*queue.config.rate), queue.bucket, milliseconds(now), 1).state;
  const Duration lease = request.lease.value_or(queue.config.lease);
  job.lane = Lane::leased;
  job.attempts += 1;
  job.claims += 1;
  job.deadline = now + std::chrono::floor<milliseconds>(lease).count();
  Group& group = queue.groups[job.group];
  if (queue.config.fair) {
    queue.round = std::max(queue.round, group.round);
    group.round = queue.round + 1;
  }
  queue.touched.insert(job.group);
  queue.reconsider.insert(job.group);
  return {.queue = name,
          .id = job.id,
          .attempt = job.attempts,
          .token = {job.number, job.claims},
          .deadline = job.deadline};
}

std::vector<Claim> Model::take_jobs(const ClaimRequest& request) {
  std::vector<Claim> claims;
  while (claims.size() < request.jobs_max) {
    Job* best = nullptr;
    const std::string* from = nullptr;
    for (const std::string& name : request.queues) {
      const auto queue = queues_.find(name);
      if (queue == queues_.end()) continue;
      Job* job = next_job(queue->second, request.skip_groups);
      if (job == nullptr || (best != nullptr && !comes_before(*job, *best))) continue;
      best = job;
      from = &name;
    }
    if (best == nullptr) break;
    claims.push_back(lease_out(*from, *best, request));
  }
  return claims;
}

std::vector<Claim> Model::claim(const ClaimRequest& request) {
  for (;;) {
    std::vector<Claim> claims = take_jobs(request);
    std::uint64_t moved = 0;
    for (const std::string& name : request.queues)
      if (const auto queue = queues_.find(name); queue != queues_.end() && !queue->second.paused)
        moved += move_on(queue->second);
    settled(Code::ok);
    if (!claims.empty() || moved == 0) return claims;
  }
}

Code Model::configure(const std::string& name, const QueueConfig& config) {
  const Queue* before = find(name);
  const Counts counts = count(name);
  if (before != nullptr && before->config.fair != config.fair &&
      counts.backlog() + counts.leased > 0)
    return Code::conflict;
  Queue& queue = queues_[name];
  if (config.rate && config.rate != queue.config.rate)
    queue.bucket = full_bucket(bucket_limit(*config.rate), milliseconds(now));
  const auto& before_max = queue.config.group_max;
  if (before_max && (!config.group_max || *config.group_max > *before_max)) queue.reviewing = true;
  queue.config = config;
  return Code::ok;
}

Code Model::limit_group(const std::string& name, const std::string& group,
                        std::optional<std::uint32_t> limit) {
  const auto queue = queues_.find(name);
  if (queue == queues_.end()) return Code::not_found;
  queue->second.groups[group].limit = limit;
  queue->second.touched.insert(group);
  queue->second.reconsider.insert(group);
  return settled(Code::ok);
}

Code Model::pause(const std::string& name, bool paused) {
  const auto queue = queues_.find(name);
  if (queue == queues_.end()) return Code::not_found;
  queue->second.paused = paused;
  return Code::ok;
}

Code Model::remove_queue(const std::string& name) {
  const auto queue = queues_.find(name);
  if (queue == queues_.end()) return Code::not_found;
  if (!queue->second.jobs.empty()) return Code::conflict;
  queues_.erase(queue);
  return Code::ok;
}

Result<std::uint64_t> Model::purge(const std::string& name, Lane lane, std::uint64_t limit) {
  const auto queue = queues_.find(name);
  if (queue == queues_.end()) return error(Code::not_found, name);
  std::uint64_t removed = 0;
  for (; removed < limit; ++removed) {
    const Job* oldest = nullptr;
    for (const auto& [id, job] : queue->second.jobs)
      if (job.lane == lane && (oldest == nullptr || std::pair(job.since, job.number) <
                                                        std::pair(oldest->since, oldest->number)))
        oldest = &job;
    if (oldest == nullptr) break;
    erase(queue->second, *oldest);
  }
  settled(Code::ok);
  return removed;
}

const Queue* Model::find(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? nullptr : &found->second;
}

const Job* Model::find(const JobRef& ref) const {
  const Queue* queue = find(ref.queue);
  if (queue == nullptr) return nullptr;
  const auto found = queue->jobs.find(ref.id);
  return found == queue->jobs.end() ? nullptr : &found->second;
}

Counts Model::count(const std::string& name, std::optional<std::string_view> group) const {
  Counts counts;
  if (const Queue* queue = find(name); queue != nullptr)
    for (const auto& [id, job] : queue->jobs)
      if (!group || job.group == *group) ++counts.of(job.lane);
  return counts;
}

std::vector<std::string> Model::peek(const std::string& name, std::size_t limit) const {
  Model after = *this;
  after.pause(name, false);
  after.queues_[name].config.rate = {};
  std::vector<std::string> ids;
  for (const Claim& claim : after.take_jobs({.queues = {name}, .jobs_max = limit}))
    ids.push_back(claim.id);
  return ids;
}

std::vector<std::string> Model::list(const std::string& name, std::optional<Lane> lane,
                                     std::string_view group) const {
  std::map<std::uint64_t, std::string> ids;
  if (const Queue* queue = find(name); queue != nullptr)
    for (const auto& [id, job] : queue->jobs)
      if ((!lane || job.lane == *lane) && (group.empty() || job.group == group))
        ids[job.number] = id;
  std::vector<std::string> ordered;
  for (auto& [number, id] : ids) ordered.push_back(id);
  return ordered;
}

}  // namespace sluice::queue::model
