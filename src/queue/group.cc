// SPDX-License-Identifier: MIT
#include "queue/group.h"

#include <algorithm>

#include "base/check.h"
#include "codec/crc32c.h"

namespace sluice::queue {
namespace {

using State = GroupRecord::State;

/// The group's first ready job, and whether its place is still to come.
struct First {
  Spot spot = {};
  bool fresh = false;
  std::uint32_t ordinal = 0;
};

std::optional<First> first_of(const GroupState& group) {
  const auto& fresh = group.fresh;
  // A fresh place is later than every other, so among equal priorities it comes last.
  if (fresh && (!group.first || fresh->priority < group.first->spot.order))
    return First{.spot = {.order = fresh->priority}, .fresh = true, .ordinal = fresh->ordinal};
  if (group.first) return First{.spot = group.first->spot};
  return std::nullopt;
}

Result<std::optional<GroupState::Ready>> read_first(Steps& steps, const kv::Range& range) {
  std::optional<GroupState::Ready> first;
  SLUICE_LET(entries, steps.txn().scan(range, {.limit = 1}));
  if (entries.empty()) return first;
  SLUICE_LET(spot, read_group_job_key(entries[0].key));
  SLUICE_LET(offered, read_offered(entries[0].value, spot.place));
  first = {.spot = spot, .job = offered.job};
  return first;
}

Result<State> wanted_state(Steps& steps, QueueState& queue, GroupState& group) {
  const bool has_ready =
      group.first_known ? first_of(group).has_value() : group.record.state != State::idle;
  if (!has_ready) return State::idle;
  // Without a look at the count where it cannot matter: an offered group that got no new active
  // job stays offered, a blocked one that lost none stays blocked.
  const State state = group.record.state;
  const bool lost_none = group.deltas[static_cast<std::size_t>(Lane::leased)] >= 0;
  const bool stays =
      state == State::offered || (state == State::blocked && lost_none && !queue.record.reviewing);
  if (stays && !group.review) return state;
  SLUICE_LET(free, has_free_slot(steps, queue, group));
  return free ? State::offered : State::blocked;
}

void erase_offer(Steps& steps, const QueueState& queue, const GroupState& group,
                 std::uint32_t shard) {
  if (queue.config().fair) {
    const auto round = static_cast<std::int64_t>(group.round_stored);
    steps.txn().erase(queue.keys.offer(shard, round, group.hash));
  } else {
    const Spot& spot = *group.first_stored;
    steps.txn().erase(queue.keys.offer(shard, spot.order, spot.place));
  }
}

void put_offer(Steps& steps, const QueueState& queue, const GroupState& group,
               std::uint32_t shard) {
  const std::string value = group_value(group.hash);
  if (queue.config().fair) {
    const auto round = static_cast<std::int64_t>(group.record.round);
    steps.txn().put(queue.keys.offer(shard, round, group.hash), value);
    return;
  }
  const First first = *first_of(group);
  if (!first.fresh) {
    steps.txn().put(queue.keys.offer(shard, first.spot.order, first.spot.place), value);
    return;
  }
  const auto key = queue.keys.new_offer(shard, first.spot.order);
  steps.txn().put_stamped_key(key.prefix, first.ordinal, key.suffix, value);
}

/// Whether the offer stands elsewhere than before.
bool offer_moved(const QueueState& queue, const GroupState& group) {
  if (queue.config().fair) return group.record.round != group.round_stored;
  if (!group.first_known) return false;
  const auto first = first_of(group);
  return first->fresh || first->spot != group.first_stored;
}

Status settle_offer(Steps& steps, QueueState& queue, GroupState& group) {
  SLUICE_LET(wanted, wanted_state(steps, queue, group));
  const State before = group.record.state;
  if (wanted != before) SLUICE_TRY(know_first(steps, queue, group));
  const std::uint32_t shard = shard_for(queue.config(), group.record.name, {});
  if (wanted == State::offered && before != State::offered && queue.config().fair) {
    // Not at the round reached: a group whose jobs come one by one would have all the turns.
    SLUICE_LET(reached, round_of(steps, queue, shard));
    group.record.round = reached + 1;
  }
  const bool moved = wanted == State::offered && offer_moved(queue, group);
  if (before == State::offered && (wanted != before || moved))
    erase_offer(steps, queue, group, shard);
  if (wanted == State::offered && (wanted != before || moved))
    put_offer(steps, queue, group, shard);
  if (before == State::blocked && wanted != before)
    steps.txn().erase(queue.keys.blocked(group.hash));
  if (wanted == State::blocked && wanted != before)
    steps.txn().put(queue.keys.blocked(group.hash), "");
  if (wanted == State::offered && before != wanted) queue.ring = true;
  if (wanted != before || group.record.round != group.round_stored) group.changed = true;
  group.record.state = wanted;
  return {};
}

/// The keys of the group's counts if no lane has a job of it, this transaction's moves included.
Result<std::optional<std::vector<std::string>>> counts_if_empty(Steps& steps,
                                                                const QueueState& queue,
                                                                const GroupState& group) {
  std::optional<std::vector<std::string>> keys;
  if (group.record.state != State::idle) return keys;
  keys.emplace();
  SLUICE_TRY(steps.txn().scan(queue.keys.group_counts(group.hash), {},
                              [&](std::string_view key, std::string_view value) {
                                keys->emplace_back(key);
                                const auto zero = [](char c) { return c == 0; };
                                if (!std::ranges::all_of(value, zero)) keys.reset();
                                return keys.has_value();
                              }));
  return keys;
}

Status erase_if_empty(Steps& steps, const QueueState& queue, GroupState& group) {
  SLUICE_LET(counts, counts_if_empty(steps, queue, group));
  if (!counts) return {};
  for (const auto& key : *counts) steps.txn().erase(key);
  if (group.record.limit) return {};
  steps.txn().erase(queue.keys.group(group.hash));
  steps.txn().erase(queue.keys.group_name(group.record.name));
  group.changed = false;
  return {};
}

}  // namespace

std::uint32_t shard_for(const QueueConfig& config, std::string_view group, std::string_view id) {
  if (config.shards == 1) return 0;
  return codec::crc32c(group.empty() ? id : group) % config.shards;
}

std::optional<std::uint32_t> limit_of(const QueueState& queue, const GroupState& group) {
  if (group.record.name.empty()) return std::nullopt;
  return group.record.limit ? group.record.limit : queue.config().group_max;
}

Result<std::int64_t> active_of(Steps& steps, QueueState& queue, GroupState& group) {
  if (!group.active && !group.stored) group.active = 0;  // A group with a job has a record (I9).
  if (!group.active) {
    SLUICE_LET(count, read_count(steps.txn(), queue.keys.group_count(group.hash, Lane::leased)));
    group.active = static_cast<std::int64_t>(count);
  }
  return *group.active + group.deltas[static_cast<std::size_t>(Lane::leased)];
}

Result<bool> has_free_slot(Steps& steps, QueueState& queue, GroupState& group) {
  const auto limit = limit_of(queue, group);
  if (!limit) return true;
  SLUICE_LET(active, active_of(steps, queue, group));
  return active < *limit;
}

Status know_first(Steps& steps, QueueState& queue, GroupState& group) {
  if (group.first_known) return {};
  SLUICE_LET(first, read_first(steps, queue.keys.group_jobs(group.hash)));
  group.first = first;
  if (first) group.first_stored = first->spot;
  group.first_known = true;
  return {};
}

Status join_at(Steps& steps, QueueState& queue, GroupState& group, const GroupState::Ready& job) {
  SLUICE_TRY(know_first(steps, queue, group));
  if (!group.first || job.spot < group.first->spot) group.first = job;
  group.touched = true;
  return {};
}

Status join_fresh(Steps& steps, QueueState& queue, GroupState& group, GroupState::Fresh fresh) {
  SLUICE_TRY(know_first(steps, queue, group));
  if (!group.fresh || fresh.priority < group.fresh->priority) group.fresh = fresh;
  group.touched = true;
  return {};
}

Status leave_spot(Steps& steps, QueueState& queue, GroupState& group, const Spot& spot) {
  SLUICE_CHECK(group.first_known && !group.fresh);
  group.touched = true;
  group.shrunk = true;
  if (!group.first || group.first->spot != spot) return {};
  // From there on: a claim that takes many jobs of one group must not walk over them again.
  kv::Range rest = queue.keys.group_jobs(group.hash);
  rest.begin = queue.keys.group_job(group.hash, static_cast<std::int32_t>(spot.order), spot.place);
  rest.begin.push_back('\0');
  SLUICE_LET(next, read_first(steps, rest));
  group.first = next;
  return {};
}

void count_group(GroupState& group, Lane lane, std::int64_t delta) {
  group.deltas[static_cast<std::size_t>(lane)] += delta;
  group.touched = true;
  if (delta < 0) group.shrunk = true;
  if (lane == Lane::leased && delta > 0) group.review = true;
}

Result<std::uint64_t> round_of(Steps& steps, const QueueState& queue, std::uint32_t shard) {
  if (const auto own = queue.rounds.find(shard); own != queue.rounds.end()) return own->second;
  return read_count(steps.txn(), queue.keys.round(shard), kv::Isolation::snapshot);
}

Status flush_group(Steps& steps, QueueState& queue, GroupState& group) {
  SLUICE_TRY(settle_offer(steps, queue, group));
  for (std::size_t lane = 1; lane <= kLaneCount; ++lane)
    if (group.deltas[lane] != 0)
      steps.txn().add(queue.keys.group_count(group.hash, static_cast<Lane>(lane)),
                      group.deltas[lane]);
  if (!group.stored) {
    steps.txn().put(queue.keys.group_name(group.record.name), "");
    group.changed = true;
  }
  if (group.shrunk) SLUICE_TRY(erase_if_empty(steps, queue, group));
  if (group.changed) steps.txn().put(queue.keys.group(group.hash), encode(group.record));
  return {};
}

}  // namespace sluice::queue
