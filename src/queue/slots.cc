// SPDX-License-Identifier: MIT
#include "queue/slots.h"

#include <algorithm>

namespace sluice::queue {
namespace {

Result<std::int64_t> debt_of(Steps& steps, QueueState& queue) {
  if (!queue.debt) {
    SLUICE_LET(value, steps.txn().get(queue.keys.debt()));
    SLUICE_LET(debt, kv::decode_counter(value));
    queue.debt = debt;
  }
  return *queue.debt;
}

void add_debt(Steps& steps, QueueState& queue, std::int64_t delta) {
  steps.txn().add(queue.keys.debt(), delta);
  *queue.debt += delta;
}

/// Slots that are made rather than given back are named by numbers instead of jobs.
Bytes16 numbered(std::uint32_t n) {
  Bytes16 name;
  for (std::size_t i = 0; i < 4; ++i) name.bytes[15 - i] = static_cast<unsigned char>(n >> (8 * i));
  return name;
}

}  // namespace

Result<std::vector<std::string>> find_slots(Steps& steps, QueueState& queue, std::size_t count,
                                            const std::vector<std::uint32_t>& shards_first) {
  // What this transaction gave back is not in the snapshot.
  std::vector<std::string> found = queue.freed_slots;
  std::vector<std::uint32_t> shards = shards_first;
  for (std::uint32_t shard = 0; shard < queue.config().shards; ++shard)
    if (std::ranges::find(shards_first, shard) == shards_first.end()) shards.push_back(shard);
  for (const std::uint32_t shard : shards) {
    if (found.size() >= count) break;
    SLUICE_TRY(
        steps.txn().scan(queue.keys.slots(shard),
                         {.limit = count - found.size(), .isolation = kv::Isolation::snapshot},
                         [&](std::string_view key, std::string_view) {
                           found.emplace_back(key);
                           return true;
                         }));
  }
  if (found.size() > count) found.resize(count);
  return found;
}

Result<bool> take_slot(Steps& steps, const std::string& slot) {
  SLUICE_LET(there, steps.txn().visit(slot, [](std::string_view) {}));
  if (there) steps.txn().erase(slot);
  return there;
}

Status give_slot_back(Steps& steps, JobState& job) {
  QueueState& queue = *job.queue;
  if (!queue.config().active_max) return {};
  SLUICE_LET(debt, debt_of(steps, queue));
  if (debt > 0) {
    add_debt(steps, queue, -1);
    return {};
  }
  const std::string slot = queue.keys.slot(job.record.shard, job.number, job.record.claims);
  steps.txn().put(slot, "");
  queue.freed_slots.push_back(slot);
  queue.ring = true;
  return {};
}

Status change_slots(Steps& steps, QueueState& queue, std::optional<std::uint32_t> limit) {
  kv::Transaction& txn = steps.txn();
  std::int64_t free = 0;  // Slots without a limit: as if all were taken by the leased jobs.
  std::vector<std::string> slots;
  SLUICE_TRY(txn.scan(queue.keys.all(Space::slot), {}, [&](std::string_view key, std::string_view) {
    slots.emplace_back(key);
    return true;
  }));
  free = static_cast<std::int64_t>(slots.size());
  if (!limit) {
    for (const auto& slot : slots) txn.erase(slot);
    txn.erase(queue.keys.debt());
    queue.debt = 0;
    return {};
  }
  SLUICE_LET(leased, read_count(txn, queue.keys.count(Lane::leased)));
  const auto active = static_cast<std::int64_t>(leased);
  const std::int64_t free_wanted = std::max<std::int64_t>(0, std::int64_t{*limit} - active);
  const std::int64_t debt_wanted = std::max<std::int64_t>(0, active - std::int64_t{*limit});
  for (; free > free_wanted; --free) txn.erase(slots[static_cast<std::size_t>(free) - 1]);
  if (free < free_wanted) {
    for (const auto& slot : slots) txn.erase(slot);
    for (std::int64_t n = 0; n < free_wanted; ++n) {
      const auto number = static_cast<std::uint32_t>(n);
      txn.put(queue.keys.slot(number % queue.config().shards, numbered(number), 0), "");
    }
    queue.ring = true;
  }
  SLUICE_LET(debt, debt_of(steps, queue));
  if (debt != debt_wanted) add_debt(steps, queue, debt_wanted - debt);
  return {};
}

}  // namespace sluice::queue
