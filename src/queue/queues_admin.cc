// SPDX-License-Identifier: MIT
// Queues: what operators change, the registry of workers, and the sweep.
#include <fmt/format.h>

#include <algorithm>

#include "queue/access.h"
#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/maintain.h"
#include "queue/names.h"
#include "queue/operations.h"
#include "queue/shards.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

/// Jobs moved, or groups reviewed, by one transaction of a sweep or a purge.
constexpr std::uint64_t kMovesPerTransaction = 500;

Status sweep_queue(Steps& steps, std::string_view name, std::uint64_t moves_max, Swept& swept) {
  SLUICE_LET(queue, steps.find_queue(name));
  if (queue == nullptr) return {};
  std::uint64_t left = moves_max;
  const auto count = [&](std::uint64_t& total, std::size_t moved) {
    total += moved;
    left -= moved;
  };
  for (std::uint32_t shard = 0; shard < queue->config().shards; ++shard) {
    SLUICE_LET(lapsed, end_leases(steps, *queue, shard, left));
    count(swept.lapsed, lapsed);
    SLUICE_LET(expired, bury_expired(steps, *queue, shard, left));
    count(swept.expired, expired);
    SLUICE_LET(due, ready_due(steps, *queue, shard, left));
    count(swept.due, due);
  }
  SLUICE_LET(removed, forget_finished(steps, *queue, left));
  count(swept.removed, removed);
  SLUICE_LET(unblocked, review_blocked(steps, *queue, left));
  count(swept.unblocked, unblocked);
  forget_operations(steps, *queue);
  return sweep_claimers(steps, *queue);
}

Status sweep_workers(kv::Transaction& txn, Millis now) {
  SLUICE_LET(entries, txn.scan(space_range(Space::worker), {.isolation = kv::Isolation::snapshot}));
  for (const auto& entry : entries) {
    SLUICE_LET(worker, decode_worker(entry.value));
    if (to_millis(worker.expires) <= now) txn.erase(entry.key);
  }
  return {};
}

void keep_earliest(std::optional<WallTime>& earliest, std::optional<WallTime> other) {
  if (other && (!earliest || *other < *earliest)) earliest = other;
}

}  // namespace

Status Queues::configure(std::string_view queue, const QueueConfig& config) {
  return run_steps(*this, kDrain,
                   [&](Steps& steps) { return queue::configure(steps, queue, config); });
}

Status Queues::limit_group(std::string_view queue, std::string_view group,
                           std::optional<std::uint32_t> limit) {
  return run_steps(*this, kDrain,
                   [&](Steps& steps) { return queue::limit_group(steps, queue, group, limit); });
}

Status Queues::pause(std::string_view queue) {
  return run_steps(*this, kDrain, [&](Steps& steps) { return set_paused(steps, queue, true); });
}

Status Queues::resume(std::string_view queue) {
  return run_steps(*this, kDrain, [&](Steps& steps) { return set_paused(steps, queue, false); });
}

Status Queues::remove_queue(std::string_view queue) {
  return run_steps(*this, kDrain, [&](Steps& steps) { return queue::remove_queue(steps, queue); });
}

Result<std::uint64_t> Queues::purge(std::string_view name, Lane lane, std::uint64_t limit) {
  if (lane < Lane::done)
    return error(
        Code::invalid_argument,
        fmt::format("jobs in the lane {} are not finished: cancel them first", lane_name(lane)));
  std::uint64_t total = 0;
  for (std::uint64_t purged = 1; purged > 0 && total < limit; total += purged) {
    const std::uint64_t some = std::min(kMovesPerTransaction, limit - total);
    SLUICE_TRY(run_steps(*this, kDrain, [&](Steps& steps) -> Status {
      purged = 0;
      SLUICE_LET(queue, steps.get_queue(name));
      SLUICE_LET(entries, steps.txn().scan(queue->keys.rest_all(lane), {.limit = some}));
      for (const auto& entry : entries) {
        SLUICE_LET(timed, read_timed_key(Space::rest, entry.key));
        SLUICE_LET(job, steps.find_job(*queue, timed.job));
        if (!job) return error(Code::corrupt, "a finished job has no record");
        SLUICE_TRY(leave(steps, *job));
        erase_job(steps, *job);
        ++purged;
      }
      return {};
    }));
  }
  return total;
}

Status Queues::register_worker(const Worker& worker, Duration ttl) {
  SLUICE_TRY(check_name("worker name", worker.name));
  SLUICE_TRY(check_name_or_empty("host name", worker.host));
  SLUICE_TRY(check_duration("the ttl", ttl, kLeaseMin, kDelayMax));
  if (worker.queues.size() > kClaimQueuesMax)
    return error(Code::invalid_argument,
                 fmt::format("a worker names at most {} queues", kClaimQueuesMax));
  for (const auto& queue : worker.queues) SLUICE_TRY(check_name("queue name", queue));
  Worker record = worker;
  record.seen = store_.now();
  record.expires = record.seen + ttl;
  return status_of(store_.run([&](kv::Transaction& txn) -> Status {
    txn.put(worker_key(worker.name), encode(record));
    return {};
  }));
}

Status Queues::forget_worker(std::string_view name) {
  SLUICE_TRY(check_name("worker name", name));
  return status_of(store_.run(
      [&](kv::Transaction& txn) -> Status {
        SLUICE_LET(there, txn.visit(worker_key(name), [](std::string_view) {}));
        if (!there) return error(Code::not_found, fmt::format("there is no worker \"{}\"", name));
        txn.erase(worker_key(name));
        return {};
      },
      kDrain));
}

Result<std::vector<Worker>> Queues::list_workers() {
  std::vector<Worker> workers;
  const WallTime now = store_.now();
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(entries, reader.scan(space_range(Space::worker)));
    for (const auto& entry : entries) {
      SLUICE_LET(worker, decode_worker(entry.value));
      if (worker.expires > now) workers.push_back(std::move(worker));
    }
    return {};
  }));
  return workers;
}

Result<Swept> Queues::sweep(std::uint64_t moves_max) {
  Swept swept;
  std::string after;
  for (;;) {
    SLUICE_LET(queues, list_queues(after));
    if (queues.empty()) break;
    for (const Queue& queue : queues) {
      after = queue.name;
      const Keys keys(hash_of(queue.name));
      for (;;) {
        std::optional<Millis> next;
        const Millis now = to_millis(store_.now());
        SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
          SLUICE_LET(record, read_queue(reader, queue.name));
          if (!record) return {};
          SLUICE_LET(deadline, next_deadline(reader, keys, *record, now));
          next = deadline;
          return {};
        }));
        const std::uint64_t left = moves_max - std::min(moves_max, swept.moved());
        if (!next || *next > now || left == 0) {
          if (next) keep_earliest(swept.next, to_wall(*next));
          break;
        }
        Swept step;
        SLUICE_TRY(run_steps(*this, kDrain, [&](Steps& steps) {
          step = {};
          return sweep_queue(steps, queue.name, std::min(left, kMovesPerTransaction), step);
        }));
        swept.lapsed += step.lapsed;
        swept.due += step.due;
        swept.expired += step.expired;
        swept.removed += step.removed;
        swept.unblocked += step.unblocked;
      }
    }
  }
  SLUICE_TRY(status_of(store_.run(
      [&](kv::Transaction& txn) { return sweep_workers(txn, to_millis(store_.now())); }, kDrain)));
  return swept;
}

}  // namespace sluice::queue
