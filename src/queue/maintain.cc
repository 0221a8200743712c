// SPDX-License-Identifier: MIT
#include "queue/maintain.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "queue/agenda.h"
#include "queue/events.h"
#include "queue/group.h"
#include "queue/lanes.h"
#include "queue/operations.h"

namespace sluice::queue {
namespace {

using Move = std::function<Status(JobState&)>;

/// Applies `move` to the jobs of a timed range. They are found by a snapshot read and then read
/// conflictingly one by one: who gets to a job first moves it.
Result<std::size_t> move_each(Steps& steps, QueueState& queue, Space space, const kv::Range& range,
                              std::size_t moves_max, const Move& move) {
  if (moves_max == 0) return std::size_t{0};
  std::vector<Timed> found;
  Status problem;
  SLUICE_TRY(steps.txn().scan(range, {.limit = moves_max, .isolation = kv::Isolation::snapshot},
                              [&](std::string_view key, std::string_view) {
                                const auto timed = read_timed_key(space, key);
                                if (!timed) problem = timed.error();
                                if (timed) found.push_back(*timed);
                                return problem.ok();
                              }));
  SLUICE_TRY(problem);
  std::size_t moved = 0;
  for (const Timed& timed : found) {
    if (steps.placed(timed.job)) continue;
    SLUICE_LET(job, steps.find_job(queue, timed.job));
    if (!job) continue;
    const JobRecord& record = job->record;
    // Moved by this transaction already: the snapshot does not know.
    const bool stands = space == Space::leased      ? record.deadline == timed.at
                        : space == Space::scheduled ? record.due == timed.at
                        : space == Space::expiry    ? record.lane <= Lane::ready
                                                    : record.since == timed.at;
    const bool right_lane = space == Space::leased      ? record.lane == Lane::leased
                            : space == Space::scheduled ? record.lane == Lane::scheduled
                                                        : true;
    if (!stands || !right_lane) continue;
    SLUICE_TRY(move(*job));
    ++moved;
  }
  return moved;
}

Status lapse(Steps& steps, JobState& job) {
  JobRecord& record = job.record;
  const QueueConfig& config = job.queue->config();
  const RetryPolicy policy = record.retry.value_or(config.retry);
  ++record.lapses;
  record.error = fmt::format("the lease of worker \"{}\" lapsed", record.worker);
  SLUICE_TRY(add_attempt(steps, job, Outcome::lapsed, record.error));
  SLUICE_TRY(leave(steps, job));
  const bool poison = record.lapses >= config.lapses_max;
  if (poison || record.attempts >= policy.attempts_max) {
    record.reason = poison ? DeathReason::poison : DeathReason::attempts;
    return finish(steps, job, Lane::dead);
  }
  return enter(steps, job, Lane::ready);
}

/// The time of the first entry of a range, plus `after`.
Result<std::optional<Millis>> first_time(kv::Reader& reader, Space space, const kv::Range& range,
                                         Millis after = 0) {
  std::optional<Millis> first;
  Status problem;
  SLUICE_TRY(reader.scan(range, {.limit = 1, .isolation = kv::Isolation::snapshot},
                         [&](std::string_view key, std::string_view) {
                           const auto timed = read_timed_key(space, key);
                           if (!timed) problem = timed.error();
                           if (timed) first = timed->at + after;
                           return false;
                         }));
  SLUICE_TRY(problem);
  return first;
}

}  // namespace

Result<std::size_t> end_leases(Steps& steps, QueueState& queue, std::uint32_t shard,
                               std::size_t moves_max) {
  return move_each(steps, queue, Space::leased,
                   queue.keys.timed_until(Space::leased, shard, steps.now()), moves_max,
                   [&](JobState& job) { return lapse(steps, job); });
}

Result<std::size_t> ready_due(Steps& steps, QueueState& queue, std::uint32_t shard,
                              std::size_t moves_max) {
  return move_each(steps, queue, Space::scheduled,
                   queue.keys.timed_until(Space::scheduled, shard, steps.now()), moves_max,
                   [&](JobState& job) -> Status {
                     SLUICE_TRY(leave(steps, job));
                     return enter(steps, job, Lane::ready, Place::fresh);
                   });
}

Result<std::size_t> bury_expired(Steps& steps, QueueState& queue, std::uint32_t shard,
                                 std::size_t moves_max) {
  return move_each(steps, queue, Space::expiry,
                   queue.keys.timed_until(Space::expiry, shard, steps.now()), moves_max,
                   [&](JobState& job) -> Status {
                     SLUICE_TRY(leave(steps, job));
                     job.record.reason = DeathReason::expired;
                     return finish(steps, job, Lane::dead);
                   });
}

Result<std::size_t> forget_finished(Steps& steps, QueueState& queue, std::size_t moves_max) {
  std::size_t moved = 0;
  for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
    const Duration retention =
        lane == Lane::dead ? queue.config().dead_retention : queue.config().done_retention;
    if (retention == Duration::max() || to_millis(retention) > steps.now()) continue;
    SLUICE_LET(forgotten, move_each(steps, queue, Space::rest,
                                    queue.keys.rest_until(lane, steps.now() - to_millis(retention)),
                                    moves_max - moved,
                                    [&](JobState& job) { return remove_finished(steps, job); }));
    moved += forgotten;
  }
  return moved;
}

Result<std::size_t> review_blocked(Steps& steps, QueueState& queue, std::size_t groups_max) {
  if (!queue.record.reviewing || groups_max == 0) return std::size_t{0};
  SLUICE_LET(cursor, steps.txn().get(queue.keys.review()));
  kv::Range range = queue.keys.all(Space::blocked);
  if (cursor && cursor->size() == Bytes16::kSize)
    range.begin = queue.keys.blocked(Bytes16::of(*cursor)) + '\0';
  SLUICE_LET(blocked, steps.txn().scan(range, {.limit = groups_max}));
  for (const auto& entry : blocked) {
    const std::string_view key = entry.key;
    SLUICE_LET(group, steps.get_group(queue, Bytes16::of(key.substr(key.size() - Bytes16::kSize))));
    group->touched = true;
    group->review = true;
  }
  if (blocked.size() < groups_max) {
    queue.record.reviewing = false;
    queue.changed = true;
    steps.txn().erase(queue.keys.review());
  } else {
    const std::string_view last = blocked.back().key;
    steps.txn().put(queue.keys.review(), last.substr(last.size() - Bytes16::kSize));
  }
  return blocked.size();
}

Result<std::optional<Millis>> next_claimable(kv::Reader& reader, const Keys& keys,
                                             const QueueConfig& config) {
  std::optional<Millis> next;
  for (std::uint32_t shard = 0; shard < config.shards; ++shard) {
    for (const Space space : {Space::leased, Space::scheduled}) {
      SLUICE_LET(first, first_time(reader, space, keys.timed_all(space, shard)));
      keep_earliest(next, first);
    }
  }
  SLUICE_LET(errand, next_errand(reader, keys));
  keep_earliest(next, errand);
  return next;
}

Result<std::optional<Millis>> next_deadline(kv::Reader& reader, const Keys& keys,
                                            const QueueRecord& queue, Millis now) {
  const QueueConfig& config = queue.config;
  SLUICE_LET(next, next_claimable(reader, keys, config));
  if (queue.reviewing) keep_earliest(next, std::optional(now));
  for (std::uint32_t shard = 0; shard < config.shards; ++shard) {
    SLUICE_LET(first, first_time(reader, Space::expiry, keys.timed_all(Space::expiry, shard)));
    keep_earliest(next, first);
  }
  for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
    const Duration retention = lane == Lane::dead ? config.dead_retention : config.done_retention;
    if (retention == Duration::max()) continue;
    SLUICE_LET(first, first_time(reader, Space::rest, keys.rest_all(lane), to_millis(retention)));
    keep_earliest(next, first);
  }
  SLUICE_LET(operations, next_forgotten_operation(reader, keys));
  keep_earliest(next, operations);
  SLUICE_LET(trim, next_trim(reader, keys));
  keep_earliest(next, trim);
  return next;
}

}  // namespace sluice::queue
