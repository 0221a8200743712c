// SPDX-License-Identifier: MIT
// What changes a queue or a group rather than a job: settings, limits, pause, removal.
#include <fmt/format.h>

#include "queue/agenda.h"
#include "queue/checks.h"
#include "queue/group.h"
#include "queue/names.h"
#include "queue/slots.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

/// `conflict` if the queue has work to do even without jobs.
Status check_no_flows(Steps& steps, const QueueState& queue) {
  SLUICE_LET(schedules, steps.txn().scan(queue.keys.all(Space::schedule), {.limit = 1}));
  if (!schedules.empty())
    return error(Code::conflict,
                 fmt::format("queue \"{}\" has schedules: remove them first", queue.record.name));
  SLUICE_LET(agenda, steps.txn().scan(queue.keys.all(Space::agenda)));
  for (const auto& entry : agenda) {
    SLUICE_LET(errand, read_agenda_key(entry.key));
    if (errand.errand == Errand::release || errand.errand == Errand::drop)
      return error(Code::conflict, fmt::format("other jobs still wait for what queue \"{}\" had: "
                                               "sweep first",
                                               queue.record.name));
  }
  return {};
}

Result<std::uint64_t> count_lanes(Steps& steps, const QueueState& queue, Lane last) {
  std::uint64_t total = 0;
  for (std::size_t lane = 1; lane <= static_cast<std::size_t>(last); ++lane) {
    SLUICE_LET(count, read_count(steps.txn(), queue.keys.count(static_cast<Lane>(lane))));
    total += count;
  }
  return total;
}

Status check_reshaping(Steps& steps, const QueueState& queue, const QueueConfig& config) {
  if (config.shards == queue.config().shards && config.fair == queue.config().fair) return {};
  SLUICE_LET(unfinished, count_lanes(steps, queue, Lane::leased));
  if (unfinished == 0) return {};
  return error(Code::conflict,
               fmt::format("queue \"{}\" has {} unfinished jobs: shards and fair can only change "
                           "when it has none",
                           queue.record.name, unfinished));
}

bool raised(std::optional<std::uint32_t> from, std::optional<std::uint32_t> to) {
  return from && (!to || *to > *from);
}

Status change_limits(Steps& steps, QueueState& queue, const QueueConfig& config) {
  const QueueConfig before = queue.config();
  kv::Transaction& txn = steps.txn();
  if (config.shards != before.shards) {
    // No job is leased: all slots are free, and are made anew over the new shards.
    SLUICE_LET(slots, txn.scan(queue.keys.all(Space::slot)));
    for (const auto& slot : slots) txn.erase(slot.key);
    for (std::uint32_t shard = config.shards; shard < before.shards; ++shard)
      txn.erase(queue.keys.round(shard));
  }
  queue.record.config = config;
  if (config.active_max != before.active_max || config.shards != before.shards)
    SLUICE_TRY(change_slots(steps, queue, config.active_max));
  if (config.rate != before.rate) txn.erase(queue.keys.bucket());
  if (raised(before.group_max, config.group_max)) {
    queue.record.reviewing = true;
    txn.put(queue.keys.review(), "");
    queue.ring = true;
  }
  return {};
}

}  // namespace

Status configure(Steps& steps, std::string_view name, const QueueConfig& config) {
  SLUICE_TRY(check_config(config));
  SLUICE_LET(queue, steps.see_queue(name));
  SLUICE_TRY(check_reshaping(steps, *queue, config));
  SLUICE_TRY(change_limits(steps, *queue, config));
  queue->changed = true;
  queue->ring = true;
  return {};
}

Status limit_group(Steps& steps, std::string_view queue_name, std::string_view group_name,
                   std::optional<std::uint32_t> limit) {
  SLUICE_TRY(check_name("group name", group_name));
  SLUICE_LET(queue, steps.get_queue(queue_name));
  SLUICE_LET(group, steps.get_group(*queue, group_name));
  group->record.limit = limit;
  group->changed = true;
  group->touched = true;
  group->review = true;
  group->shrunk = true;  // Without a limit it may have no reason to exist any more.
  return {};
}

Status set_paused(Steps& steps, std::string_view name, bool paused) {
  SLUICE_LET(queue, steps.get_queue(name));
  if (queue->record.paused == paused) return {};
  queue->record.paused = paused;
  queue->changed = true;
  queue->ring = !paused;
  return {};
}

Status remove_queue(Steps& steps, std::string_view name) {
  SLUICE_LET(queue, steps.get_queue(name));
  SLUICE_LET(jobs, count_lanes(steps, *queue, Lane::cancelled));
  if (jobs > 0)
    return error(Code::conflict, fmt::format("queue \"{}\" has {} jobs: finish, cancel or purge "
                                             "them first",
                                             name, jobs));
  SLUICE_TRY(check_no_flows(steps, *queue));
  kv::Transaction& txn = steps.txn();
  txn.erase(queue_name_key(name));
  for (const std::string& key :
       {queue->keys.queue(), queue->keys.debt(), queue->keys.bucket(), queue->keys.review()})
    txn.erase(key);
  for (const Space space : {Space::agenda, Space::unique, Space::dependant, Space::batch,
                            Space::batch_count, Space::event, Space::event_count, Space::trimmed})
    txn.erase_range(queue->keys.all(space));
  for (const Space space : {Space::count, Space::group, Space::group_name, Space::group_count,
                            Space::slot, Space::operation, Space::round, Space::claimer})
    txn.erase_range(queue->keys.all(space));
  queue->stored = false;
  queue->changed = false;
  queue->record = {};
  return {};
}

}  // namespace sluice::queue
