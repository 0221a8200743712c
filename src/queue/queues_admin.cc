// SPDX-License-Identifier: MIT
// Queues: what operators change, and the registry of workers.
#include <fmt/format.h>

#include <algorithm>

#include "queue/access.h"
#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/names.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

/// Jobs removed by one transaction of a purge.
constexpr std::uint64_t kMovesPerTransaction = 500;

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
        SLUICE_TRY(remove_finished(steps, *job));
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

}  // namespace sluice::queue
