// SPDX-License-Identifier: MIT
// Queues::sweep: what time has made due, in all queues.
#include <algorithm>

#include "queue/access.h"
#include "queue/agenda.h"
#include "queue/events.h"
#include "queue/maintain.h"
#include "queue/names.h"
#include "queue/operations.h"
#include "queue/shards.h"

namespace sluice::queue {
namespace {

/// Jobs moved, or groups reviewed, by one transaction.
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
  SLUICE_LET(work, work_agenda(steps, *queue, left));
  swept.fired += work.fired;
  swept.released += work.released;
  swept.batches += work.batches;
  SLUICE_LET(streams, event_shards(steps.txn(), queue->keys));
  for (const std::uint32_t shard : streams)
    SLUICE_TRY(trim_events(steps, *queue, shard, kMovesPerTransaction));
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

void add(Swept& total, const Swept& step) {
  total.lapsed += step.lapsed;
  total.due += step.due;
  total.expired += step.expired;
  total.removed += step.removed;
  total.unblocked += step.unblocked;
  total.fired += step.fired;
  total.released += step.released;
  total.batches += step.batches;
}

/// When the queue has something to do, if it exists.
Result<std::optional<Millis>> next_of(Queues& queues, const std::string& name, Millis now) {
  std::optional<Millis> next;
  SLUICE_TRY(queues.store().read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(record, read_queue(reader, name));
    if (!record) return {};
    SLUICE_LET(deadline, next_deadline(reader, Keys(hash_of(name)), *record, now));
    next = deadline;
    return {};
  }));
  return next;
}

/// One queue, in as many transactions as it takes.
Status sweep_all_of(Queues& queues, const std::string& name, std::uint64_t moves_max,
                    Swept& swept) {
  std::optional<Millis> before;
  for (bool more = true; more;) {
    const Millis now = to_millis(queues.store().now());
    SLUICE_LET(next, next_of(queues, name, now));
    const std::uint64_t left = moves_max - std::min(moves_max, swept.moved());
    if (!next || *next > now || left == 0) {
      if (next) keep_earliest(swept.next, std::optional(to_wall(*next)));
      return {};
    }
    Swept step;
    SLUICE_TRY(run_steps(queues, kDrain, [&](Steps& steps) {
      step = {};
      return sweep_queue(steps, name, std::min(left, kMovesPerTransaction), step);
    }));
    add(swept, step);
    // An entry that does not lead to its job stays due for ever: that is for verify to find.
    more = step.moved() > 0 || next != before;
    before = next;
  }
  return {};
}

}  // namespace

Result<Swept> Queues::sweep(std::uint64_t moves_max) {
  Swept swept;
  std::string after;
  for (;;) {
    SLUICE_LET(queues, list_queues(after));
    if (queues.empty()) break;
    for (const Queue& queue : queues) SLUICE_TRY(sweep_all_of(*this, queue.name, moves_max, swept));
    after = queues.back().name;
  }
  SLUICE_TRY(status_of(store_.run(
      [&](kv::Transaction& txn) { return sweep_workers(txn, to_millis(store_.now())); }, kDrain)));
  return swept;
}

}  // namespace sluice::queue
