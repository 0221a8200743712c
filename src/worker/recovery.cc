// SPDX-License-Identifier: MIT
#include "worker/recovery.h"

#include <unistd.h>

#include "exec/process_tree.h"
#include "worker/command.h"
#include "worker/follow_up.h"
#include "worker/places.h"
#include "worker/report.h"
#include "worker/run.h"
#include "worker/run_book.h"

namespace sluice::worker {
namespace {

constexpr Duration kTreesTimeMax = std::chrono::seconds(10);

struct Left {
  queue::JobRef job = {};
  queue::Token token = {};
  std::int32_t priority = 0;
  std::string payload = {};
  bool last_attempt = false;
};

Result<std::vector<Left>> jobs_of(queue::Queues& queues, const queue::Worker& worker) {
  std::vector<Left> left;
  for (const std::string& queue : worker.queues) {
    queue::ListRequest request{
        .queue = queue, .lane = queue::Lane::leased, .limit = 1'000, .payload = true};
    do {
      auto page = queues.list(request);
      if (!page && page.error().code() == Code::not_found) break;
      SLUICE_TRY(page);
      for (const queue::Job& job : page->jobs)
        if (job.worker == worker.name)
          left.push_back({.job = {queue, job.id},
                          .token = {job.number, job.claims},
                          .priority = job.priority,
                          .payload = job.payload.value_or(""),
                          .last_attempt = job.retry && job.attempts >= job.retry->attempts_max});
      request.after = page->next;
    } while (!request.after.empty());
  }
  return left;
}

/// A run is known by what it was started with, and by the session that its worker noted.
std::vector<exec::TreeMark> marks_of(const exec::LockFile& locks, const std::string& dir,
                                     const queue::Worker& worker, const std::vector<Left>& left) {
  const std::vector<RunNote> notes = read_run_book(dir, worker.name, locks.identity());
  std::vector<exec::TreeMark> marks;
  for (const Left& one : left) {
    exec::TreeMark mark = mark_of(locks, one.token);
    for (const RunNote& note : notes)
      if (note.token == one.token) mark.session = {note.session, note.started};
    marks.push_back(std::move(mark));
  }
  return marks;
}

std::optional<queue::NewJob> follow_up_of(const Left& left, const Report& report) {
  const auto command = decode_command(left.payload);
  if (!left.last_attempt || !command) return {};
  return follow_up(left.job, left.priority, *command, report, true);
}

/// The token is the fence: a job that somebody else has decided about meanwhile stays as it is.
Status give_back(queue::Queues& queues, const Left& left, const std::string& worker, bool begun) {
  const Report report{.problem = "the worker " + std::string(short_name(worker)) + " died"};
  const auto give = [&](kv::Transaction& txn) -> Status {
    queue::Scope scope(queues, txn);
    if (!begun) return scope.release({.queue = left.job.queue, .token = left.token});
    SLUICE_TRY(scope.fail({.queue = left.job.queue,
                           .token = left.token,
                           .error = to_text(report),
                           .delay = Duration{}}));
    const auto next = follow_up_of(left, report);
    return next ? status_of(scope.enqueue(*next)) : Status();
  };
  const Status status = status_of(queues.store().run(give, {.write_class = kv::WriteClass::drain}));
  return status.code() == Code::lease_lost ? Status() : status;
}

Result<Recovered> recover(queue::Queues& queues, const exec::LockFile& locks,
                          const std::string& dir, const Clock& clock, const queue::Worker& worker) {
  Recovered recovered{.worker = worker.name};
  SLUICE_LET(left, jobs_of(queues, worker));
  if (!left.empty()) {
    const Status ended =
        exec::end_trees(locks, marks_of(locks, dir, worker, left), clock, kTreesTimeMax);
    if (ended.code() == Code::unavailable) {
      recovered.problem = ended.message();
      return recovered;
    }
    SLUICE_TRY(ended);
  }
  for (const Left& one : left) {
    const bool begun = access(log_path(dir, one.token).c_str(), F_OK) == 0;
    SLUICE_TRY(give_back(queues, one, worker.name, begun));
    (begun ? recovered.again : recovered.unstarted).push_back(one.job.id);
  }
  const Status forgotten = queues.forget_worker(worker.name);
  if (!forgotten.ok() && forgotten.code() != Code::not_found) return Failure{forgotten};
  remove_run_book(dir, worker.name);
  return recovered;
}

}  // namespace

Result<std::vector<LiveWorker>> look_at_workers(queue::Queues& queues,
                                                const exec::LockFile& locks) {
  SLUICE_LET(workers, queues.list_workers());
  std::vector<LiveWorker> live;
  for (queue::Worker& worker : workers) {
    if (!worker.name.starts_with(kWorkerPrefix)) continue;
    SLUICE_LET(held, locks.held(worker_place(worker.name)));
    live.push_back({.worker = std::move(worker), .alive = held});
  }
  return live;
}

Result<std::vector<Recovered>> recover_workers(queue::Queues& queues, const exec::LockFile& locks,
                                               const std::string& dir, const Clock& clock) {
  std::vector<Recovered> all;
  SLUICE_LET(workers, look_at_workers(queues, locks));
  for (const LiveWorker& one : workers) {
    if (one.alive) continue;
    SLUICE_LET(lock, locks.try_lock(worker_place(one.worker.name)));
    if (!lock) continue;  // Another process deals with it.
    SLUICE_LET(recovered, recover(queues, locks, dir, clock, one.worker));
    all.push_back(std::move(recovered));
  }
  return all;
}

}  // namespace sluice::worker
