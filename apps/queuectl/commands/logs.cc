// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/descriptor.h"
#include "cli/size.h"
#include "exec/output_file.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/jobs.h"
#include "worker/places.h"

namespace sluice::cli {
namespace {

constexpr Duration kFollowPeriod = std::chrono::milliseconds(50);
constexpr std::size_t kChunkBytes = std::size_t{1} << 16;

/// The output file of one run.
class LogFile {
 public:
  LogFile(const Context& context, const queue::Token& token)
      : context_(context),
        file_(open(worker::log_path(context.dir(), token).c_str(), O_RDONLY | O_CLOEXEC)) {}

  bool exists() const { return file_.valid(); }

  /// Prints what is there and has not been printed, leaving out the hole that a limit has cut.
  void print_new() {
    const std::uint64_t end = size();
    auto hole = exec::hole_of(file_.get());
    const auto cut = hole && *hole ? **hole : exec::Hole{end, end};
    print_range(std::min(cut.begin, end));
    if (at_ >= cut.begin && at_ < cut.end && cut.end <= end) {
      context_.warn("... " + format_size(cut.end - at_) + " left out (output-limit) ...");
      at_ = cut.end;
    }
    print_range(end);
  }

  /// The place from which `lines` lines are left.
  void skip_to_last(std::uint64_t lines) {
    std::uint64_t at = size();
    std::uint64_t seen = 0;
    char buffer[kChunkBytes];
    while (at > 0) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(at, sizeof buffer));
      at -= some;
      if (pread(file_.get(), buffer, some, static_cast<off_t>(at)) != static_cast<ssize_t>(some))
        return;
      for (std::size_t i = some; i-- > 0;) {
        if (buffer[i] != '\n' || at + i + 1 == size()) continue;
        if (++seen < lines) continue;
        at_ = at + i + 1;
        return;
      }
    }
  }
  void skip_all() { at_ = size(); }

 private:
  std::uint64_t size() const {
    struct stat info{};
    return fstat(file_.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
  }

  void print_range(std::uint64_t end) {
    char buffer[kChunkBytes];
    while (at_ < end) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(end - at_, sizeof buffer));
      const ssize_t got = pread(file_.get(), buffer, some, static_cast<off_t>(at_));
      if (got <= 0) return;
      context_.print({buffer, static_cast<std::size_t>(got)});
      at_ += static_cast<std::uint64_t>(got);
    }
  }

  const Context& context_;
  const Descriptor file_;
  std::uint64_t at_ = 0;
};

/// The claim under which the wanted run was made; 0: none has begun.
Result<std::uint64_t> claim_of(const JobView& view, std::optional<std::int64_t> attempt) {
  const queue::Job& job = view.job;
  if (!attempt) {
    if (view.state == State::processing) return job.claims;
    return job.history.empty() ? 0 : job.history.back().claim;
  }
  if (view.state == State::processing && job.attempts == *attempt) return job.claims;
  for (auto run = job.history.rbegin(); run != job.history.rend(); ++run)
    if (run->number == *attempt) return run->claim;
  return error(Code::not_found, "job " + job.id + " has no run " + std::to_string(*attempt) +
                                    ": queuectl show lists its runs");
}

bool is_over(const JobView& view) {
  return view.job.lane >= queue::Lane::done;
}

/// Prints runs as they come, until the job is over. The exit code is the job's.
Result<int> follow(const Context& context, queue::Queues& queues, const queue::JobRef& ref,
                   std::optional<std::int64_t> attempt, std::optional<std::int64_t> lines) {
  std::uint64_t shown = 0;
  std::optional<LogFile> log;
  for (;;) {
    // The state first: what was written before the job's end is then certainly printed.
    SLUICE_LET(seen, get_job(queues, ref, {.history = true}));
    SLUICE_LET(claim, claim_of(seen, attempt));
    if (claim != 0 && claim != shown) {
      if (shown != 0) context.say("--- run " + std::to_string(seen.job.attempts) + " ---");
      log.emplace(context, queue::Token{seen.job.number, claim});
      if (log->exists()) {
        if (lines && shown == 0)
          *lines == 0 ? log->skip_all() : log->skip_to_last(static_cast<std::uint64_t>(*lines));
        shown = claim;
      }
    }
    if (log && log->exists()) log->print_new();
    if (is_over(seen)) return seen.exit_code().value_or(kFailed);
    context.clock().sleep_for(kFollowPeriod, {});
  }
}

Result<int> logs(Context& context, const Arguments& arguments) {
  SLUICE_LET(refs, jobs_of(arguments));
  SLUICE_LET(lines, arguments.number("--lines", 0, INT32_MAX));
  SLUICE_LET(attempt, arguments.number("--attempt", 1, INT32_MAX));
  if (refs.size() > 1 && arguments.has("--follow"))
    return error(Code::invalid_argument, "one job at a time can be followed");
  SLUICE_LET(queues, context.queues());
  if (arguments.has("--follow")) return follow(context, *queues, refs[0], attempt, lines);
  for (const queue::JobRef& ref : refs) {
    SLUICE_LET(seen, get_job(*queues, ref, {.history = true}));
    SLUICE_LET(claim, claim_of(seen, attempt));
    if (claim == 0) {
      context.say("job " + ref.id + " has not run yet: queuectl logs -f waits for it");
      continue;
    }
    LogFile log(context, {seen.job.number, claim});
    if (!log.exists()) {
      context.detail("the run wrote nothing, or its output is older than keep-logs");
      continue;
    }
    if (lines) *lines == 0 ? log.skip_all() : log.skip_to_last(static_cast<std::uint64_t>(*lines));
    log.print_new();
  }
  return kOk;
}

}  // namespace

std::vector<Command> logs_commands() {
  return {{.name = "logs",
           .alias = "log",
           .arguments = "ID...",
           .summary = "print what a job wrote",
           .details =
               "Standard output and standard error together, of the last run, as they came.\n"
               "With -f until the job is over; the exit code is then the job's own.\n"
               "\n"
               "  queuectl logs job1 -n 20\n"
               "  queuectl logs -f job1",
           .options = {{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue},
                       {"--follow", 'f', "", "go on until the job is over", Takes::nothing},
                       {"--lines", 'n', "N", "only the last N lines", Takes::text},
                       {"--attempt", 0, "K", "of the run of this number", Takes::text}},
           .takes = Takes::job,
           .run = logs}};
}

}  // namespace sluice::cli
