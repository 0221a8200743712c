// SPDX-License-Identifier: MIT
#include "queue/picker.h"

#include <algorithm>

#include "base/check.h"
#include "queue/batch.h"
#include "queue/group.h"
#include "queue/lanes.h"
#include "queue/slots.h"

namespace sluice::queue {
namespace {

BucketLimit limit_of_rate(const Rate& rate) {
  return {.tokens = rate.jobs, .per = rate.per, .burst = rate.burst};
}

}  // namespace

Picker::Picker(Steps& steps, QueueState& queue, const std::set<Bytes16>& skip, std::size_t wanted)
    : steps_(steps), queue_(queue), skip_(skip), wanted_(wanted) {}

Status Picker::open() {
  SLUICE_TRY(open_rate());
  SLUICE_LET(plan, plan_shards(steps_, queue_));
  plan_ = std::move(plan);
  if (queue_.config().active_max) SLUICE_TRY(open_slots());
  for (const std::uint32_t shard : plan_.home) open_shard(shard);
  return {};
}

Status Picker::open_rate() {
  if (!queue_.config().rate) return {};
  const BucketLimit limit = limit_of_rate(*queue_.config().rate);
  const Duration now = std::chrono::milliseconds(steps_.now());
  SLUICE_LET(value, steps_.txn().get(queue_.keys.bucket()));
  bucket_ = full_bucket(limit, now);
  if (value) {
    SLUICE_LET(state, decode_bucket(*value));
    bucket_ = refill(limit, state, now);
  }
  allowance_ = std::min<std::size_t>(allowance_, bucket_->tokens);
  if (bucket_->tokens > 0) return {};
  const Duration ready_at = sluice::take(limit, *bucket_, now, 1).ready_at;
  if (ready_at != Duration::max()) rate_ready_ = to_millis(ready_at);
  return {};
}

Status Picker::open_slots() {
  SLUICE_LET(slots, find_slots(steps_, queue_, std::min(wanted_, allowance_), plan_.home));
  slots_ = std::move(slots);
  allowance_ = std::min(allowance_, slots_.size());
  std::ranges::reverse(slots_);  // Taken from the back.
  return {};
}

void Picker::open_shard(std::uint32_t shard) {
  scans_.push_back({.shard = shard, .rest = queue_.keys.offers(shard)});
  opened_.push_back(shard);
}

Status Picker::fill(ShardScan& scan) {
  const std::size_t limit = std::min(wanted_, allowance_) + std::min<std::size_t>(skip_.size(), 64);
  Status problem;
  std::size_t visited = 0;
  std::string last;
  SLUICE_TRY(steps_.txn().scan(scan.rest, {.limit = limit, .isolation = kv::Isolation::snapshot},
                               [&](std::string_view key, std::string_view value) {
                                 ++visited;
                                 const auto spot = read_offer_key(key);
                                 if (!spot) problem = spot.error();
                                 if (!spot) return false;
                                 const auto offered = read_offered(value, spot->place);
                                 if (!offered) problem = offered.error();
                                 if (!offered) return false;
                                 scan.found.push_back(
                                     {.spot = *spot, .offered = *offered, .shard = scan.shard});
                                 if (visited == limit) last = key;
                                 return true;
                               }));
  SLUICE_TRY(problem);
  std::ranges::reverse(scan.found);
  scan.exhausted = visited < limit;
  if (!scan.exhausted) scan.rest.begin = last + '\0';
  return {};
}

Result<std::optional<Picker::Candidate>> Picker::next_candidate() {
  for (;;) {
    ShardScan* best = nullptr;
    for (ShardScan& scan : scans_) {
      if (scan.found.empty() && !scan.exhausted) SLUICE_TRY(fill(scan));
      if (scan.found.empty()) continue;
      const bool better = best == nullptr || scan.found.back() < best->found.back();
      if (better) best = &scan;
    }
    const bool from_again =
        !again_.empty() && (best == nullptr || *again_.begin() < best->found.back());
    std::optional<Candidate> candidate;
    if (from_again) {
      candidate = *again_.begin();
      again_.erase(again_.begin());
    } else if (best != nullptr) {
      candidate = best->found.back();
      best->found.pop_back();
    } else if (others_opened_ < plan_.others.size()) {
      open_shard(plan_.others[others_opened_++]);
      continue;
    }
    return candidate;
  }
}

Result<bool> Picker::resolve_group(const Candidate& candidate) {
  const Bytes16& hash = candidate.offered.group;
  if (skip_.contains(hash)) return false;
  SLUICE_LET(group, steps_.get_group(queue_, hash));
  SLUICE_TRY(know_first(steps_, queue_, *group));
  if (!group->first) return false;
  SLUICE_LET(free, has_free_slot(steps_, queue_, *group));
  if (!free) {
    group->touched = true;  // The limit was lowered: the flush turns the offer into a block.
    group->review = true;
    return false;
  }
  SLUICE_LET(job, steps_.find_job(queue_, group->first->job));
  if (!job) return error(Code::corrupt, "a group's first job does not exist");
  current_ = std::move(*job);
  return true;
}

/// Whether the candidate is a job that may be claimed; it is then the current one.
Result<bool> Picker::resolve(const Candidate& candidate) {
  if (candidate.offered.is_group) return resolve_group(candidate);
  SLUICE_LET(job, steps_.find_job(queue_, candidate.offered.job));
  // The snapshot does not see what this transaction did before.
  if (!job || job->record.lane != Lane::ready || job->place != candidate.spot.place) return false;
  current_ = std::move(*job);
  return true;
}

Status Picker::offer_again(const Candidate& taken) {
  if (!taken.offered.is_group) return {};
  SLUICE_LET(group, steps_.get_group(queue_, taken.offered.group));
  if (!group->first) return {};
  Candidate next = taken;
  next.spot = queue_.config().fair ? Spot{.order = static_cast<std::int64_t>(group->record.round),
                                          .place = group->hash}
                                   : group->first->spot;
  again_.insert(next);
  return {};
}

/// The current job is not handed out: it is over.
Status Picker::put_away(Lane lane, DeathReason reason) {
  JobState job = std::move(*current_);
  current_.reset();
  SLUICE_TRY(leave(steps_, job));
  job.record.reason = reason;
  SLUICE_TRY(finish(steps_, job, lane));
  ++put_away_;
  return offer_again(current_from_);
}

Result<const JobState*> Picker::look() {
  while (!current_) {
    if (allowance_ == 0 || cut_short()) return nullptr;
    SLUICE_LET(candidate, next_candidate());
    if (!candidate) return nullptr;
    current_from_ = *candidate;
    SLUICE_LET(usable, resolve(*candidate));
    if (!usable) continue;
    const Millis expires = current_->record.expires;
    SLUICE_LET(dropped, is_dropped(steps_, *current_));
    if (expires > 0 && expires <= steps_.now())
      SLUICE_TRY(put_away(Lane::dead, DeathReason::expired));
    else if (dropped)
      SLUICE_TRY(put_away(Lane::cancelled, DeathReason::none));
  }
  return &*current_;
}

Result<bool> Picker::take_slot_for_it() {
  if (!queue_.config().active_max) return true;
  while (!slots_.empty()) {
    const std::string slot = std::move(slots_.back());
    slots_.pop_back();
    SLUICE_LET(taken, take_slot(steps_, slot));
    if (!taken) continue;
    std::erase(queue_.freed_slots, slot);
    return true;
  }
  return false;
}

Result<std::optional<JobState>> Picker::take_it(Duration lease, const std::string& worker) {
  SLUICE_CHECK(current_.has_value());
  SLUICE_LET(slot, take_slot_for_it());
  if (!slot) {
    allowance_ = 0;
    current_.reset();
    return std::optional<JobState>();
  }
  JobState job = std::move(*current_);
  current_.reset();
  SLUICE_TRY(leave(steps_, job));
  JobRecord& record = job.record;
  ++record.attempts;
  ++record.claims;
  record.claimed = steps_.now();
  record.deadline = steps_.now() + to_millis(lease);
  record.worker = worker;
  record.progress.clear();
  SLUICE_TRY(enter(steps_, job, Lane::leased));
  if (allowance_ != SIZE_MAX) --allowance_;
  ++tokens_taken_;
  if (queue_.config().fair) SLUICE_TRY(end_turn());
  SLUICE_TRY(offer_again(current_from_));
  return std::optional(std::move(job));
}

/// The group goes on to the round after the one that claims have reached. Not just to the round
/// after its own: it may have been passed over for a while, and must not catch up in a row.
Status Picker::end_turn() {
  SLUICE_LET(group, steps_.get_group(queue_, current_from_.offered.group));
  const auto [reached, fresh] = rounds_.try_emplace(current_from_.shard, 0);
  if (fresh) {
    SLUICE_LET(stored, round_of(steps_, queue_, current_from_.shard));
    reached->second = stored;
  }
  const auto round = static_cast<std::uint64_t>(current_from_.spot.order);
  reached->second = std::max(reached->second, round);
  group->record.round = reached->second + 1;
  return {};
}

Status Picker::close() {
  if (bucket_ && tokens_taken_ > 0) {
    const BucketLimit limit = limit_of_rate(*queue_.config().rate);
    const Duration now = std::chrono::milliseconds(steps_.now());
    const BucketTake taken = sluice::take(limit, *bucket_, now, tokens_taken_);
    SLUICE_CHECK(taken.taken);
    steps_.txn().put(queue_.keys.bucket(), encode(taken.state));
  }
  for (const auto& [shard, round] : rounds_) {
    SLUICE_LET(reached, round_of(steps_, queue_, shard));
    if (round <= reached) continue;
    steps_.txn().erase(queue_.keys.round(shard));
    steps_.txn().add(queue_.keys.round(shard), static_cast<std::int64_t>(round));
    queue_.rounds[shard] = round;
  }
  return {};
}

}  // namespace sluice::queue
