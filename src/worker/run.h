// SPDX-License-Identifier: MIT
// One run of a job: its lock, its output file, its process, its time limit.
#pragma once

#include <sluice/clock.h>
#include <sluice/job.h>
#include <sluice/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "exec/lock_file.h"
#include "exec/output_file.h"
#include "exec/process.h"
#include "exec/process_tree.h"
#include "worker/command.h"
#include "worker/environments.h"
#include "worker/places.h"
#include "worker/report.h"

namespace sluice::worker {

/// What a run needs to know of its worker. Outlives every run.
struct RunContext {
  std::string dir = {};
  std::string worker = {};
  const exec::LockFile& locks;
  EnvironmentCache& environments;
  const Clock& clock;
  std::vector<std::string>& spare_logs;  ///< Empty output files that a run may take for its own.
  std::uint64_t output_bytes_max = 0;    ///< 0: no limit.
};

/// How to find what is left of a run.
exec::TreeMark mark_of(const exec::LockFile& locks, const queue::Token& token);

/// A job that runs, or has ended. Belongs to the thread that started it.
///
/// Its processes hold the job's lock, which the worker gives up once they have it: so the lock is
/// free exactly when none of them is left, whatever becomes of the worker.
class Run {
 public:
  /// Takes the job's lock (ending what an earlier run left behind: `unavailable` if that will not
  /// go), checks that the lease still holds at `now`, and starts the command in `slot`. A command
  /// that cannot be started is a run too: its report says why, and so does its output. `lease_lost`
  /// if the lease is over, any other failure if this machine cannot run anything at the moment;
  /// then nothing was started.
  static Result<std::unique_ptr<Run>> start(const RunContext& context, queue::Lease lease,
                                            Command command, WallTime now, unsigned slot);

  const queue::Lease& lease() const { return lease_; }
  const Command& command() const { return command_; }
  unsigned slot() const { return slot_; }
  MonoTime started() const { return started_; }
  /// The session and process group of its command; 0 if that could not be started.
  pid_t session() const { return process_ ? process_->pid() : 0; }
  int pidfd() const { return process_ ? process_->pidfd() : -1; }
  std::string log() const { return log_path(context_.dir, lease_.token); }

  /// How it ended, once it has. To be asked when pidfd() is readable.
  std::optional<Report> ended();
  /// Whether it ended because this machine cannot run anything at the moment: nothing ran.
  bool not_now() const { return not_now_; }

  /// Why a run is brought to its end before its time.
  enum class Stop : std::uint8_t {
    none,
    timeout,    ///< Its own time limit: a failed attempt.
    hand_back,  ///< The worker is told to stop at once: the job goes back to its place.
    lost,       ///< Somebody else has decided about the job.
  };
  /// SIGTERM now, SIGKILL when the job's `kill_after` is over. A second call changes nothing.
  void stop(Stop why);
  /// SIGKILL, for one that is being stopped.
  void kill();
  Stop stopping() const { return stopping_; }

  /// Does what is due: time limit, kill, output limit. When to call again at the latest.
  MonoTime tick();

 private:
  Run(const RunContext& context, queue::Lease lease, Command command, unsigned slot);
  Result<exec::Lock> take_lock() const;
  Status launch(const exec::Lock& lock);
  std::vector<std::string> environment(const Environment& base) const;
  Report failed_start(const Status& why) const;
  Report report_of(const exec::Ending& how) const;
  Report report_of(const Status& problem) const;
  std::uint64_t output_bytes() const;
  void enforce_cap();

  const RunContext& context_;
  const queue::Lease lease_;
  const Command command_;
  const unsigned slot_;
  Descriptor output_;
  exec::OutputCap cap_;
  bool capping_;
  std::optional<exec::Process> process_;
  std::optional<Report> report_;
  bool not_now_ = false;
  MonoTime started_ = {};
  MonoTime cap_at_ = {};
  Stop stopping_ = Stop::none;
  MonoTime kill_at_ = MonoTime::max();
};

}  // namespace sluice::worker
