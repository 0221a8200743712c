// SPDX-License-Identifier: MIT
#include "tests/queue/sim/claim_rules.h"

#include <algorithm>

namespace sluice::queue::sim {
namespace {

// A group may win the tie of one round and then stand first in the next.
constexpr int kTurnsMax = 2;

std::vector<const Seen*> handed_out(const Call& call, const QueueSight& after) {
  std::vector<const Seen*> jobs;
  for (const Lease& lease : call.leases)
    if (lease.queue == after.queue.name)
      if (const Seen* seen = after.by_number(lease.token.job)) jobs.push_back(seen);
  return jobs;
}

bool raised(const std::optional<std::uint32_t>& from, const std::optional<std::uint32_t>& to) {
  return from && (!to || *to > *from);
}

// Whether the limit was reached at some moment of the claim: it takes jobs first, and ends leases
// that are over, whose slots the next one gets, only then.
bool reached(const std::optional<std::uint32_t>& limit, std::uint64_t active_at_begin,
             std::uint64_t taken) {
  return limit && active_at_begin + taken >= *limit;
}

std::string name_of(const Seen& seen) {
  return seen.job.queue + "/" + seen.job.id + " (group '" + seen.job.group + "', priority " +
         std::to_string(seen.job.priority) + ", place " + std::to_string(seen.place) + ")";
}

}  // namespace

// Ready all the time, in a group with a free slot all the time, and not skipped.
bool ClaimRules::claimable(const Call& call, const QueueSight& begin, const QueueSight& after,
                           const Seen& job) const {
  if (!job.ready()) return false;
  const Seen* was = begin.by_number(job.job.number);
  if (was == nullptr || !was->ready() || was->place != job.place) return false;
  if (was->job.priority != job.job.priority || was->job.claims != job.job.claims) return false;
  if (job.job.expires && *job.job.expires <= call.ended) return false;
  const std::string& group = job.job.group;
  if (std::ranges::find(call.claim.skip_groups, group) != call.claim.skip_groups.end())
    return false;
  if (group.empty()) return true;
  if (call.intruded) return false;  // Its slots may have been taken and given back meanwhile.
  const auto taken =
      static_cast<std::uint64_t>(std::ranges::count_if(call.leases, [&](const Lease& lease) {
        return lease.queue == after.queue.name && lease.group == group;
      }));
  return !reviewing_.contains(after.queue.name) &&
         !reached(begin.limit_of(group), begin.active(group), taken) &&
         !reached(after.limit_of(group), begin.active(group), taken) && !after.group_full(group);
}

std::optional<std::string> ClaimRules::judge(const Call& call, const Sight& begin,
                                             const Sight& before, const Sight& after) {
  for (const std::string& name : call.claim.queues) {
    const QueueSight* at_begin = begin.find(name);
    const QueueSight* at_commit = before.find(name);
    const QueueSight* now = after.find(name);
    if (at_begin == nullptr || at_commit == nullptr || now == nullptr) continue;
    if (auto wrong = judge_limits(call, *at_commit, *now)) return wrong;
    if (auto wrong = judge_rate(call, *now)) return wrong;
    if (auto wrong = judge_order(call, *at_begin, *now)) return wrong;
    if (auto wrong = judge_offer(call, *at_begin, *now)) return wrong;
    if (auto wrong = judge_turns(call, *at_begin, *now)) return wrong;
    note_probes(call, *at_commit, *now);
  }
  return judge_order_over_queues(call, after);
}

ClaimRules::Complaint ClaimRules::judge_order_over_queues(const Call& call, const Sight& after) {
  const Seen* last = nullptr;
  for (const Lease& lease : call.leases) {
    const QueueSight* queue = after.find(lease.queue);
    if (queue->queue.config.shards != 1 || queue->queue.config.fair) return std::nullopt;
    const Seen* seen = queue->by_number(lease.token.job);
    // Jobs of two queues that came due together have places in an order that is nobody's promise.
    if (last != nullptr && seen->job.priority < last->job.priority)
      return "P7: a claim returned " + name_of(*seen) + " after " + name_of(*last);
    last = seen;
  }
  return std::nullopt;
}

ClaimRules::Complaint ClaimRules::judge_limits(const Call& call, const QueueSight& before,
                                               const QueueSight& after) {
  const auto jobs = handed_out(call, after);
  if (jobs.empty()) return std::nullopt;
  if (before.queue.paused) return "P8: a paused queue handed out " + name_of(*jobs.front());
  const auto& active_max = before.queue.config.active_max;
  if (active_max && after.active() > *active_max)
    return "P8: " + std::to_string(after.active()) + " active jobs in " + after.queue.name +
           ", whose limit is " + std::to_string(*active_max);
  for (const Seen* seen : jobs) {
    const auto limit = before.limit_of(seen->job.group);
    const auto active = after.active(seen->job.group);
    if (limit && active > *limit)
      return "P8: " + std::to_string(active) + " active jobs in the group of " + name_of(*seen) +
             ", whose limit is " + std::to_string(*limit);
    const auto at = raised_from_.find({after.queue.name, seen->job.group});
    if (at == raised_from_.end() || active <= at->second) continue;
    tally_.hit(Probe::limit_raised_unblocks);
    raised_from_.erase(at);
  }
  return std::nullopt;
}

ClaimRules::Complaint ClaimRules::judge_order(const Call& call, const QueueSight& begin,
                                              const QueueSight& after) {
  if (after.queue.config.shards != 1 || after.queue.config.fair) return std::nullopt;
  const auto jobs = handed_out(call, after);
  if (jobs.empty()) return std::nullopt;
  for (std::size_t i = 1; i < jobs.size(); ++i)
    if (jobs[i]->before(*jobs[i - 1]))
      return "P7: a claim returned " + name_of(*jobs[i]) + " after " + name_of(*jobs[i - 1]);
  for (const Seen& left : after.jobs)
    if (left.before(*jobs.back()) && claimable(call, begin, after, left))
      return "P7: a claim took " + name_of(*jobs.back()) + " and left " + name_of(left);
  return std::nullopt;
}

// A claim that did not get all it asked for has left nothing that it could have had.
ClaimRules::Complaint ClaimRules::judge_offer(const Call& call, const QueueSight& begin,
                                              const QueueSight& after) {
  const QueueConfig& config = after.queue.config;
  if (call.intruded || config.rate || after.queue.paused) return std::nullopt;
  if (config.shards == 1 ? call.leases.size() >= call.claim.jobs_max : !call.leases.empty())
    return std::nullopt;
  const auto taken = handed_out(call, after).size();
  if (reached(config.active_max, begin.active(), taken)) return std::nullopt;
  for (const Seen& left : after.jobs)
    if (claimable(call, begin, after, left))
      return "P14: a claim for " + std::to_string(call.claim.jobs_max) + " jobs returned " +
             std::to_string(call.leases.size()) + " and left " + name_of(left);
  return std::nullopt;
}

ClaimRules::Complaint ClaimRules::judge_turns(const Call& call, const QueueSight& begin,
                                              const QueueSight& after) {
  if (after.queue.config.shards != 1 || !after.queue.config.fair) return std::nullopt;
  auto& turns = turns_[after.queue.name];
  if (call.intruded || !call.claim.skip_groups.empty()) turns.clear();
  std::map<std::string, std::set<std::uint64_t>> waiting;
  for (const Seen& left : after.jobs)
    if (claimable(call, begin, after, left)) waiting[left.job.group].insert(left.place);
  const auto jobs = handed_out(call, after);
  for (const Seen* seen : jobs) turns.erase(seen->job.group);
  if (call.intruded || !call.claim.skip_groups.empty()) return std::nullopt;
  for (const Seen* seen : jobs)
    for (const auto& [group, places] : waiting) {
      // Of groups that were served by this claim the order within it is not looked at.
      const std::string& g = group;
      if (std::ranges::any_of(jobs, [&](const Seen* s) { return s->job.group == g; })) continue;
      Wait& wait = turns[group];
      std::erase_if(wait.places, [&, &p = places](auto place) { return !p.contains(place); });
      if (wait.places.empty()) wait = {.places = places, .served = {}};
      if (++wait.served[seen->job.group] > kTurnsMax)
        return "fairness: the group of " + name_of(*seen) + " was served " +
               std::to_string(wait.served[seen->job.group]) + " times while group '" + group +
               "' waited";
    }
  return std::nullopt;
}

// An upper bound: whenever the settings may have changed, the bucket is taken to be full.
ClaimRules::Complaint ClaimRules::judge_rate(const Call& call, const QueueSight& after) {
  const auto& rate = after.queue.config.rate;
  if (!rate) return std::nullopt;
  const auto burst = static_cast<double>(std::max<std::uint64_t>(rate->burst, 1));
  auto [at, fresh] =
      buckets_.try_emplace(after.queue.name, Bucket{.tokens = burst, .as_of = call.begun});
  Bucket& bucket = at->second;
  const double periods = static_cast<double>((call.ended - bucket.as_of).count()) /
                         static_cast<double>(rate->per.count());
  bucket.tokens = std::min(burst, bucket.tokens + periods * static_cast<double>(rate->jobs));
  bucket.as_of = call.ended;
  const auto jobs = handed_out(call, after);
  bucket.tokens -= static_cast<double>(jobs.size());
  if (bucket.tokens < -0.01)
    return "rate: a claim took " + std::to_string(jobs.size()) + " jobs of " + after.queue.name +
           " with " + std::to_string(bucket.tokens + static_cast<double>(jobs.size())) + " tokens";
  return std::nullopt;
}

void ClaimRules::note_probes(const Call& call, const QueueSight& before, const QueueSight& after) {
  const QueueConfig& config = after.queue.config;
  const auto jobs = handed_out(call, after);
  const bool ready_left = std::ranges::any_of(after.jobs, &Seen::ready);
  const bool all_given = call.leases.size() >= call.claim.jobs_max;
  if (before.queue.paused && ready_left) tally_.hit(Probe::paused_queue_hands_out_nothing);
  if (before.queue.paused) return;
  if (config.active_max && *config.active_max > 0 && after.active() >= *config.active_max &&
      ready_left && !all_given)
    tally_.hit(Probe::active_limit_reached);
  if (const auto at = buckets_.find(after.queue.name);
      at != buckets_.end() && config.rate && at->second.tokens < 1 && ready_left && !all_given)
    tally_.hit(Probe::rate_limit_reached);
  for (const Seen* seen : jobs) {
    for (const Seen& left : after.jobs) {
      const bool other = left.job.group != seen->job.group;
      if (other && left.ready() && left.before(*seen) && after.group_full(left.job.group))
        tally_.hit(Probe::group_limit_passed_by_another);
      if (other && left.ready() && left.before(*seen) && config.fair) tally_.hit(Probe::fair_turn);
      if (left.job.lane == Lane::scheduled && left.job.number < seen->job.number && seen->job.due &&
          seen->job.claims == 1)
        tally_.hit(Probe::delayed_passes_sooner);
    }
  }
  auto& claimers = claimers_[after.queue.name];
  claimers[call.process] = call.ended;
  std::set<std::uint32_t> shards;
  for (const Seen* seen : jobs) shards.insert(seen->job.shard);
  const auto recent = std::ranges::count_if(claimers, [&](const auto& claimer) {
    return call.ended - claimer.second <= std::chrono::seconds(1);
  });
  if (recent > 1 && shards.size() == after.queue.config.shards && shards.size() > 1)
    tally_.hit(Probe::stolen_from_shard);
}

void ClaimRules::observe(const Call& call, const Sight& before, const Sight& after) {
  const bool swept = call.verb == Verb::sweep && call.status.ok() && !call.intruded &&
                     call.swept.moved() < call.count_max;
  if (swept) reviewing_.clear();
  for (const QueueSight& now : after.queues) {
    const QueueSight* was = before.find(now.queue.name);
    if (was == nullptr) continue;
    const std::string& name = now.queue.name;
    if (raised(was->queue.config.group_max, now.queue.config.group_max)) reviewing_.insert(name);
    if (call.verb == Verb::configure) buckets_.erase(name);
    if (call.verb == Verb::configure || call.verb == Verb::limit_group) turns_.erase(name);
    const bool moved_limit = call.verb == Verb::configure || call.verb == Verb::limit_group;
    if (moved_limit)
      for (const Seen& seen : now.jobs) {
        const std::string& group = seen.job.group;
        const auto from = was->limit_of(group);
        const auto to = now.limit_of(group);
        if (to && now.active(group) > *to) tally_.hit(Probe::limit_lowered_below_active);
        if (seen.ready() && was->group_full(group) && raised(from, to))
          raised_from_[{name, group}] = *from;
      }
    // A group that stood still for a moment begins its wait anew.
    for (auto& [group, wait] : turns_[name]) {
      const bool waits = std::ranges::any_of(now.jobs, [&, &g = group](const Seen& seen) {
        return seen.ready() && seen.job.group == g;
      });
      if (!waits || now.group_full(group)) wait = {};
    }
  }
}

void ClaimRules::forget() {
  buckets_.clear();
  turns_.clear();
}

}  // namespace sluice::queue::sim
