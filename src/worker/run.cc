// SPDX-License-Identifier: MIT
#include "worker/run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "worker/places.h"

namespace sluice::worker {
namespace {

// How long the processes of an earlier run may take to go after SIGKILL.
constexpr Duration kLeftoversTimeMax = std::chrono::seconds(5);
constexpr Duration kCapPeriod = std::chrono::milliseconds(250);
constexpr Duration kCapPeriodOver = std::chrono::milliseconds(25);

Result<Descriptor> open_log(const std::string& path, std::vector<std::string>& spare) {
  const bool reused = !spare.empty();
  if (reused) {
    // The folder may not be there yet.
    if (rename(spare.back().c_str(), path.c_str()) != 0) unlink(spare.back().c_str());
    spare.pop_back();
  }
  auto output = exec::open_output(AT_FDCWD, path);
  // What outlived its own run would write into this one's, and `logs -f` would read on.
  if (output && reused && !exec::is_unused(output->get())) {
    unlink(path.c_str());
    output = exec::open_output(AT_FDCWD, path);
  }
  if (output || output.error().code() != Code::not_found) return output;
  const std::string folder = path.substr(0, path.rfind('/'));
  mkdir(folder.substr(0, folder.rfind('/')).c_str(), 0700);
  mkdir(folder.c_str(), 0700);
  return exec::open_output(AT_FDCWD, path);
}

int exit_code_of(const Status& why) {
  return why.code() == Code::not_found ? 127 : 126;
}

}  // namespace

exec::TreeMark mark_of(const exec::LockFile& locks, const queue::Token& token) {
  return {.env = std::string(kRunVariable) + "=" + locks.identity() + "/" + token.to_string(),
          .lock = job_place(token.job)};
}

Run::Run(const RunContext& context, queue::Lease lease, Command command, unsigned slot)
    : context_(context),
      lease_(std::move(lease)),
      command_(std::move(command)),
      slot_(slot),
      cap_(context.output_bytes_max),
      capping_(context.output_bytes_max != 0) {}

Result<std::unique_ptr<Run>> Run::start(const RunContext& context, queue::Lease lease,
                                        Command command, WallTime now, unsigned slot) {
  std::unique_ptr<Run> run(new Run(context, std::move(lease), std::move(command), slot));
  run->started_ = context.clock.mono();
  run->cap_at_ = run->started_ + kCapPeriod;
  SLUICE_LET(lock, run->take_lock());
  // Only now: whoever holds the lock and a lease that has not run out is the only one to run it.
  if (now >= run->lease_.deadline)
    return error(Code::lease_lost, "the lease ran out before the start");
  SLUICE_LET(output, open_log(run->log(), context.spare_logs));
  run->output_ = std::move(output);
  const Status launched = run->launch(lock);
  if (launched.code() == Code::unavailable) return Failure{launched};
  if (!launched.ok()) run->report_ = run->failed_start(launched);
  return run;
}

Result<exec::Lock> Run::take_lock() const {
  const std::uint64_t place = job_place(lease_.token.job);
  SLUICE_LET(lock, context_.locks.try_lock(place));
  if (lock) return std::move(*lock);
  // Left over from a run whose worker lost its lease or died. The token of that run is not known
  // here, but whoever holds the lock is found by the lock.
  const exec::TreeMark mark = mark_of(context_.locks, lease_.token);
  SLUICE_TRY(exec::end_trees(context_.locks, {&mark, 1}, context_.clock, kLeftoversTimeMax));
  SLUICE_LET(again, context_.locks.try_lock(place));
  if (again) return std::move(*again);
  return error(Code::unavailable, "the job is being run by somebody else");
}

Status Run::launch(const exec::Lock& lock) {
  SLUICE_LET(base, context_.environments.get(command_.environment));
  exec::Command spawn{.argv = command_.argv,
                      .env = environment(*base),
                      .cwd = command_.cwd,
                      .output = output_.get(),
                      .kept = lock.fd()};
  if (!command_.text.empty()) spawn.argv = {"/bin/sh", "-c", command_.text};
  SLUICE_LET(process, exec::Process::start(std::move(spawn)));
  process_ = std::move(process);
  return {};
}

std::vector<std::string> Run::environment(const Environment& base) const {
  std::vector<std::string> lines;
  lines.reserve(base.size() + command_.set.size() + 8);
  const auto set = [&](std::string line) {
    const std::string_view name = std::string_view(line).substr(0, line.find('=') + 1);
    std::erase_if(lines, [&](const std::string& other) { return other.starts_with(name); });
    lines.push_back(std::move(line));
  };
  for (const std::string& line : base)
    if (!line.starts_with("QUEUECTL_")) lines.push_back(line);
  for (const std::string& line : command_.set) set(line);
  if (!command_.cwd.empty()) set("PWD=" + command_.cwd);
  // So that a job that enqueues does so into its own store.
  lines.push_back("QUEUECTL_DB=" + context_.dir);
  lines.push_back("QUEUECTL_JOB_ID=" + lease_.id);
  lines.push_back("QUEUECTL_ATTEMPT=" + std::to_string(lease_.attempt));
  lines.push_back("QUEUECTL_QUEUE=" + lease_.queue);
  lines.push_back("QUEUECTL_WORKER=" + context_.worker);
  lines.push_back("QUEUECTL_SLOT=" + std::to_string(slot_));
  lines.push_back("QUEUECTL_TOKEN=" + lease_.token.to_string());
  lines.push_back(mark_of(context_.locks, lease_.token).env);
  if (command_.index) lines.push_back("QUEUECTL_INDEX=" + std::to_string(*command_.index));
  return lines;
}

// As a shell does it: the message goes to standard error, the code says what kind of failure.
Report Run::failed_start(const Status& why) const {
  const std::string line = "queuectl: " + why.message() + "\n";
  [[maybe_unused]] const auto ignored = write(output_.get(), line.data(), line.size());
  return {.exit_code = exit_code_of(why),
          .problem = why.message(),
          .wall = context_.clock.mono() - started_,
          .output_bytes = output_bytes()};
}

std::uint64_t Run::output_bytes() const {
  struct stat info{};
  if (fstat(output_.get(), &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.st_size);
}

std::optional<Report> Run::ended() {
  if (report_) return report_;
  const auto ending = process_->reap();
  if (ending && !*ending) return {};
  report_ = ending                  ? report_of(**ending)
            : process_->never_ran() ? failed_start(ending.error())
                                    : report_of(ending.error());
  not_now_ = process_->never_ran() && ending.error().code() == Code::unavailable;
  // What left the group, as with setsid, is nobody's business after a run that ended by itself. One
  // that was stopped must not go on in the background.
  if (stopping_ != Stop::none) {
    const exec::TreeMark mark = mark_of(context_.locks, lease_.token);
    if (const Status ended =
            exec::end_trees(context_.locks, {&mark, 1}, context_.clock, kLeftoversTimeMax);
        !ended.ok())
      report_->problem += ended.message();
  }
  enforce_cap();
  output_.reset();
  return report_;
}

Report Run::report_of(const exec::Ending& how) const {
  return {.exit_code = how.signal != 0 ? 128 + how.signal : how.exit_code,
          .signal = how.signal,
          .timed_out = stopping_ == Stop::timeout,
          .wall = context_.clock.mono() - started_,
          .user = how.usage.user,
          .system = how.usage.system,
          .rss_bytes = how.usage.rss_bytes_max,
          .output_bytes = output_bytes()};
}

// How it ended is not known.
Report Run::report_of(const Status& problem) const {
  return {.timed_out = stopping_ == Stop::timeout,
          .problem = problem.message(),
          .wall = context_.clock.mono() - started_,
          .output_bytes = output_bytes()};
}

// A file system that cannot free the middle of a file lets it grow: nothing is lost by that.
void Run::enforce_cap() {
  if (capping_) capping_ = cap_.enforce(output_.get()).code() != Code::unavailable;
}

void Run::stop(Stop why) {
  if (report_ || !process_ || stopping_ != Stop::none) return;
  stopping_ = why;
  process_->signal(SIGTERM);
  kill_at_ = context_.clock.mono() + command_.kill_after;
}

void Run::kill() {
  if (!report_ && process_) process_->signal(SIGKILL);
}

MonoTime Run::tick() {
  const MonoTime now = context_.clock.mono();
  if (report_) return now;  // Could not be started: nothing else will wake the worker for it.
  const MonoTime limit =
      command_.timeout != Duration{} ? started_ + command_.timeout : MonoTime::max();
  if (now >= limit && stopping_ == Stop::none) stop(Stop::timeout);
  if (now >= kill_at_) {
    process_->signal(SIGKILL);
    kill_at_ = MonoTime::max();
  }
  if (capping_ && now >= cap_at_) {
    enforce_cap();
    // One that is over the limit is likely to write on.
    cap_at_ = now + (output_bytes() > context_.output_bytes_max ? kCapPeriodOver : kCapPeriod);
  }
  MonoTime next = kill_at_;
  if (stopping_ == Stop::none) next = std::min(next, limit);
  if (capping_) next = std::min(next, cap_at_);
  return next;
}

}  // namespace sluice::worker
