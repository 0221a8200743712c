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

std::string hash_of_name(const std::string& name) {
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

// A group that begins to offer something stands at the round after the one that claims have
// reached.
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
                       .hash = hash_of_name(name),
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

// On the way a group that is over its limit is blocked, what is past its time to live buried, and
// what is of a cancelled batch cancelled.
Job* Model::next_job(Queue& queue, const std::vector<std::string>& skip) {
  while (may_claim(queue)) {
    Job* ends = nullptr;
    for (const Offer& offer : offers(queue, skip)) {
      if (!has_slot(queue, offer.job->group)) {
        queue.touched.insert(offer.job->group);
        queue.reconsider.insert(offer.job->group);
        continue;
      }
      const Batch* batch = batch_of(queue, *offer.job);
      const bool dropped = batch != nullptr && batch->cancelled;
      if (offer.job->expires > now && !dropped) return offer.job;
      ends = offer.job;
      break;
    }
    if (ends == nullptr) break;
    ++put_away_;
    if (ends->expires <= now)
      bury(queue, *ends);
    else
      finish(queue, *ends, Lane::cancelled);
  }
  return nullptr;
}

Claim Model::lease_out(const std::string& name, Job& job, const ClaimRequest& request) {
  Queue& queue = queues_[name];
  if (queue.config.rate)
    queue.bucket =
        sluice::take(bucket_limit(*queue.config.rate), queue.bucket, milliseconds(now), 1).state;
  const Duration lease = request.lease.value_or(queue.config.lease);
  job.attempts += 1;
  job.claims += 1;
  job.deadline = now + in_ms(lease);
  move(queue, job, Lane::leased);
  Group& group = queue.groups[job.group];
  if (queue.config.fair) {
    queue.round = std::max(queue.round, group.round);
    group.round = queue.round + 1;
  }
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
    put_away_ = 0;
    std::vector<Claim> claims = take_jobs(request);
    std::uint64_t moved = put_away_;
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
  queue.name = name;
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
  const bool busy = std::ranges::any_of(queue->second.agenda, [](const auto& note) {
    return note.first.kind == Note::release || note.first.kind == Note::drop;
  });
  if (!queue->second.jobs.empty() || !queue->second.schedules.empty() || busy)
    return Code::conflict;
  queues_.erase(queue);
  return Code::ok;
}

Result<std::uint64_t> Model::purge(const std::string& name, Lane lane, std::uint64_t limit) {
  const auto queue = queues_.find(name);
  if (queue == queues_.end()) return error(Code::not_found, name);
  std::uint64_t removed = 0;
  for (std::uint64_t before = UINT64_MAX; removed < limit && removed != before;) {
    before = removed;
    std::map<std::pair<Ms, std::uint64_t>, Job*> finished;
    for (auto& [id, job] : queue->second.jobs)
      if (job.lane == lane) finished[{job.since + job.kept_longer, job.number}] = &job;
    for (const auto& [order, job] : finished)
      if (removed < limit) {
        forget(queue->second, *job);
        ++removed;
      }
    settled(Code::ok);  // Others may have been waiting for these, and be dead now.
  }
  return removed;
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

}  // namespace sluice::queue::model
