// SPDX-License-Identifier: MIT
// Runs durable jobs on this machine.
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/queue.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec/lock_file.h"
#include "worker/environments.h"
#include "worker/exchange.h"
#include "worker/report.h"
#include "worker/run.h"
#include "worker/run_book.h"

namespace sluice::worker {

/// Something that a person who watches the worker may want to know. Views live for the call.
struct Happening {
  enum class Kind : std::uint8_t { started, completed, failed, dead, handed_back, lost };
  Kind kind = Kind::started;
  std::string_view queue = {};
  std::string_view id = {};
  std::string_view command = {};
  std::uint32_t attempt = 0;
  const Report* report = nullptr;  ///< Of completed, failed and dead.
};

struct WorkerOptions {
  std::string dir = {};  ///< Of the store: locks and logs lie beside it.
  std::vector<std::string> queues = {};
  unsigned slots = 1;  ///< Jobs at once; 1 to kSlotsMax.
  /// Ends when the queues have nothing left to run: retries that wait and jobs of other workers
  /// included, held jobs and paused queues not.
  bool drain = false;
  Duration lease = std::chrono::hours(1);
  std::uint64_t output_bytes_max = 0;  ///< Of each run's output file; 0: no limit.
  Duration logs_kept = {};             ///< Older output files are removed; 0: never.
  std::function<void(const Happening&)> tell = {};
  LogSink log = {};
  const Clock* clock = &system_clock();
};

/// The longest that a run that has ended waits for others, to be settled with them in one sync.
inline constexpr Duration kSettleMax = std::chrono::milliseconds(25);

/// A worker process: claims jobs, runs up to `slots` of them at once, and settles how they ended.
///
/// Lifecycle: open() registers it and takes its lock; run() works until it is told to stop, or has
/// drained; the destructor gives back what is left. Concurrency: everything belongs to one thread,
/// which must live as long as the jobs (see exec::Process); stop() and the like are for functions
/// that run() itself calls: watchers and `tell`.
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> open(queue::Queues& queues, WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// `ready` is called by run() whenever `fd` is readable.
  void watch(int fd, std::function<void()> ready);

  /// Until stopped or drained, with every job settled. Fails if the store does; the jobs that were
  /// running are then killed, and given back by the next worker.
  Status run();

  /// How a worker comes to its end; each goes further than the one before.
  enum class Stop : std::uint8_t {
    none,
    drain,      ///< Claims no more, and lets what runs come to its end.
    hand_back,  ///< Stops what runs (SIGTERM), and gives it back with its attempts as they were.
    kill,       ///< The same with SIGKILL.
  };
  /// Never goes back: a gentler stop than that in force changes nothing.
  void stop(Stop how);
  /// One step further than before, as Ctrl-C does it.
  void stop_harder();
  Stop stopping() const { return stopping_; }
  /// From now on this many slots; running jobs go on.
  void scale(unsigned slots);

  const std::string& name() const { return name_; }
  std::size_t running() const { return runs_.size(); }

 private:
  struct Waiting {
    queue::Lease lease;
    Command command;
    MonoTime since;
  };
  struct Watch {
    int fd;
    std::function<void()> ready;
  };

  Worker(queue::Queues& queues, WorkerOptions options, exec::LockFile locks, exec::Lock lock,
         RunBook book, std::string name);
  Status enter();
  Status work();
  void wait_for_something(MonoTime until);
  Status take_leases();
  void accept(queue::Lease lease);
  void start_jobs();
  bool may_start(const queue::Lease& lease);
  bool is_ours(const queue::Lease& lease) const;
  void start(Waiting waiting);
  void put_off(const queue::Lease& lease, const Status& why);
  void end_jobs();
  void settle(const Run& run, const Report& report);
  void settle_failure(const Run& run, const Report& report);
  void give_back_waiting(std::size_t but_first = 0);
  void want_more();
  void hand_over(Settlement settlement);
  bool flush_is_due(bool asking) const;
  std::size_t prefetch() const;
  MonoTime tick();
  Status look_around();
  void check_leases();
  Status sweep();
  void extend_leases();
  Result<bool> drained();
  bool done() const;
  unsigned used_slots() const;
  unsigned slots_of(const Command& command) const;
  unsigned free_slot() const;
  Status register_self();
  void tell(Happening::Kind kind, const queue::Lease& lease, const std::string& command,
            const Report* report = nullptr) const;
  void note(LogLevel level, const std::string& line) const;

  queue::Queues& queues_;
  WorkerOptions options_;
  const Clock& clock_;
  const exec::LockFile locks_;
  const exec::Lock lock_;  // Says that this worker lives.
  const std::string name_;
  const WallTime started_;
  const RunBook book_;
  EnvironmentCache environments_;
  std::vector<std::string> spare_logs_;
  RunContext context_;
  std::unique_ptr<Exchange> exchange_;

  std::vector<Watch> watches_;
  std::deque<Waiting> waiting_;  // Claimed, and waiting for a slot.
  std::vector<std::unique_ptr<Run>> runs_;
  Stop stopping_ = Stop::none;
  bool asked_ = false;         // For jobs that have not come yet.
  std::size_t returning_ = 0;  // Releases that are not committed yet.
  bool is_drained_ = false;
  bool clean_end_ = false;  // Everything is settled.

  std::optional<Duration> run_time_;         // The mean of late: what prefetch() goes by.
  std::optional<MonoTime> unsettled_since_;  // What was handed over first and not flushed.

  std::set<std::string> unrecovered_;  // Workers whose remains would not go: told once.
  MonoTime look_at_;
  MonoTime extend_at_;
  MonoTime sweep_at_;
  unsigned log_folder_ = 0;
};

}  // namespace sluice::worker
