// SPDX-License-Identifier: MIT
// The worker: what time makes due, and what others have done meanwhile.
#include <algorithm>

#include "worker/old_logs.h"
#include "worker/places.h"
#include "worker/recovery.h"
#include "worker/worker.h"

namespace sluice::worker {
namespace {

// How often a worker looks whether others have died and whether its jobs are still its own.
constexpr Duration kLookPeriod = std::chrono::milliseconds(500);
constexpr Duration kSweepPeriod = std::chrono::seconds(30);
constexpr std::uint64_t kSweepMoves = 500;
// A job that was claimed in advance is given back if no slot gets free for so long.
constexpr Duration kWaitingMax = std::chrono::milliseconds(200);

}  // namespace

MonoTime Worker::tick() {
  const MonoTime now = clock_.mono();
  MonoTime next = look_at_;
  for (const auto& run : runs_) next = std::min(next, run->tick());
  // One that needs several slots stays, and gets them as they become free: given back, it would be
  // claimed again at once.
  const std::size_t patient = !waiting_.empty() && waiting_.front().command.slots > 1 ? 1 : 0;
  if (waiting_.size() > patient) {
    if (now - waiting_[patient].since >= kWaitingMax)
      give_back_waiting(patient);
    else
      next = std::min(next, waiting_[patient].since + kWaitingMax);
  }
  if (unsettled_since_) next = std::min(next, *unsettled_since_ + kSettleMax);
  if (now >= extend_at_) extend_leases();
  return next;
}

void Worker::extend_leases() {
  extend_at_ = clock_.mono() + options_.lease / 3;
  std::vector<queue::ExtendRequest> requests;
  const auto add = [&](const queue::Lease& lease) {
    requests.push_back({.queue = lease.queue, .token = lease.token, .lease = options_.lease});
  };
  for (const auto& run : runs_) add(run->lease());
  for (const Waiting& waiting : waiting_) add(waiting.lease);
  if (!requests.empty()) exchange_->extend(std::move(requests));
}

Status Worker::look_around() {
  look_at_ = clock_.mono() + kLookPeriod;
  check_leases();
  SLUICE_LET(recovered, recover_workers(queues_, locks_, options_.dir, clock_));
  for (const Recovered& one : recovered) {
    if (!one.problem.empty()) {
      if (unrecovered_.insert(one.worker).second)
        note(LogLevel::warning, "the worker " + std::string(short_name(one.worker)) +
                                    " is gone, but not its jobs: " + one.problem);
      continue;
    }
    note(LogLevel::warning, "the worker " + std::string(short_name(one.worker)) + " was gone: " +
                                std::to_string(one.again.size()) + " of its jobs run again, " +
                                std::to_string(one.unstarted.size()) + " had not begun");
  }
  return clock_.mono() >= sweep_at_ ? sweep() : Status();
}

// Who cancels a job, or breaks its lease, does not know who runs it: its worker finds out.
void Worker::check_leases() {
  for (const auto& run : runs_) {
    if (run->stopping() != Run::Stop::none) continue;
    if (!is_ours(run->lease())) run->stop(Run::Stop::lost);
  }
}

Status Worker::sweep() {
  SLUICE_LET(swept, queues_.sweep(kSweepMoves));
  sweep_at_ = clock_.mono() + (swept.moved() >= kSweepMoves ? kLookPeriod : kSweepPeriod);
  if (options_.logs_kept != Duration{})
    remove_old_logs(log_root(options_.dir), log_folder_++ % 256,
                    clock_.wall() - options_.logs_kept);
  return {};
}

// What is on its way between here and the store counts as leased there.
Result<bool> Worker::drained() {
  if (!runs_.empty() || !waiting_.empty()) return false;
  for (const std::string& name : options_.queues) {
    const auto queue = queues_.get_queue(name);
    if (!queue && queue.error().code() == Code::not_found) continue;
    SLUICE_TRY(queue);
    SLUICE_LET(counts, queues_.count(name));
    if (counts.leased > 0) return false;
    if (!queue->paused && counts.ready + counts.scheduled > 0) return false;
  }
  return true;
}

}  // namespace sluice::worker
