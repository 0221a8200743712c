// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <memory>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/jobs.h"

namespace sluice::cli {
namespace {

constexpr Duration kLookPeriod = std::chrono::milliseconds(50);
constexpr Duration kEventWait = std::chrono::seconds(1);

/// Waits until something has happened in the queue, as its stream of events tells; a queue
/// without one is looked at again after a moment.
class QueueWatch {
 public:
  QueueWatch(const Context& context, queue::Queues& queues, std::string queue)
      : context_(context), queues_(queues), queue_(std::move(queue)) {
    const auto config = queues_.get_queue(queue_);
    const auto end = queues_.events_end(queue_);
    if (config && config->config.events && end) cursor_ = *end;
  }

  Status pause(Duration at_most) {
    if (cursor_.empty()) {
      context_.clock().sleep_for(std::min(at_most, kLookPeriod), {});
      return {};
    }
    SLUICE_LET(page, queues_.events({.queue = queue_,
                                     .after = cursor_,
                                     .limit = queue::kPageMax,
                                     .wait = std::min(at_most, kEventWait)}));
    if (!page.next.empty()) cursor_ = page.next;
    return {};
  }

 private:
  const Context& context_;
  queue::Queues& queues_;
  const std::string queue_;
  std::string cursor_;
};

struct Waited {
  bool timed_out = false;
  std::map<std::string, State> states = {};  ///< How each job ended.
  std::optional<int> exit_code = {};         ///< Of the last one.
};

class Waiter {
 public:
  Waiter(const Context& context, queue::Queues& queues, std::optional<Duration> timeout)
      : context_(context),
        queues_(queues),
        until_(timeout ? context.clock().mono() + *timeout : MonoTime::max()) {}

  Duration left() const {
    return until_ == MonoTime::max() ? kEventWait : until_ - context_.clock().mono();
  }

  Result<Waited> for_jobs(const std::vector<queue::JobRef>& refs, bool fail_fast) {
    Waited waited;
    QueueWatch watch(context_, queues_, refs.front().queue);
    std::vector<queue::JobRef> open = refs;
    const auto bar = make_bar(refs.size());
    for (bool first = true;; first = false) {
      SLUICE_TRY(look(open, waited, first));
      if (bar) bar->update(refs.size() - open.size());
      const bool failed = fail_fast && std::ranges::any_of(waited.states, [](const auto& one) {
                            return one.second != State::completed;
                          });
      if (open.empty() || failed) {
        if (bar) bar->finish();
        return waited;
      }
      waited.timed_out = left() <= Duration{};
      if (waited.timed_out) return waited;
      SLUICE_TRY(watch.pause(left()));
    }
  }

  /// Until the queues have nothing left that could run.
  Result<bool> for_queues(const std::vector<std::string>& names) {
    std::uint64_t most = 0;
    std::unique_ptr<ProgressBar> bar;
    for (;;) {
      std::uint64_t unfinished = 0;
      for (const std::string& name : names) {
        SLUICE_LET(counts, queues_.count(name));
        SLUICE_LET(queue, queues_.get_queue(name));
        unfinished += counts.leased;
        if (!queue.paused) unfinished += counts.ready + counts.scheduled + counts.waiting;
      }
      if (unfinished > most) {
        most = unfinished;
        bar.reset();
        bar = make_bar(most);
      }
      if (bar) bar->update(most - unfinished);
      if (unfinished == 0) {
        if (bar) bar->finish();
        return true;
      }
      if (left() <= Duration{}) return false;
      context_.clock().sleep_for(std::min(left(), kLookPeriod), {});
    }
  }

 private:
  std::unique_ptr<ProgressBar> make_bar(std::uint64_t total) const {
    if (!context_.err().is_terminal || context_.quiet() || total < 2) return {};
    return std::make_unique<ProgressBar>(
        context_.clock(), [](std::string_view drawn) { write_all(2, drawn); },
        ProgressBar::Options{
            .label = "wait", .total = total, .width = context_.err().extent.columns});
  }

  /// Takes those that are over out of `open`.
  Status look(std::vector<queue::JobRef>& open, Waited& waited, bool first) {
    for (auto at = open.begin(); at != open.end();) {
      const auto seen = get_job(queues_, *at);
      if (!seen) {
        // One that was there and is gone has been completed in a queue that keeps none, or purged.
        if (first || seen.error().code() != Code::not_found) return seen.error();
        waited.states[at->id] = State::completed;
      } else if (seen->job.lane >= queue::Lane::done) {
        waited.states[at->id] = seen->state;
        waited.exit_code = seen->exit_code();
      } else {
        ++at;
        continue;
      }
      at = open.erase(at);
    }
    return {};
  }

  const Context& context_;
  queue::Queues& queues_;
  const MonoTime until_;
};

Result<int> wait_for_queues(const Context& context, queue::Queues& queues, Waiter& waiter,
                            const Arguments& arguments) {
  std::vector<std::string> names;
  if (const auto name = arguments.text("--queue"); name && !arguments.has("--all")) {
    SLUICE_TRY(queues.get_queue(*name));
    names.push_back(*name);
  } else {
    SLUICE_LET(all, queues.list_queues());
    for (const queue::Queue& queue : all) names.push_back(queue.name);
  }
  SLUICE_LET(done, waiter.for_queues(names));
  if (done) return kOk;
  context.warn("jobs are left after the timeout");
  return kTimedOut;
}

Result<int> wait_command(Context& context, const Arguments& arguments) {
  SLUICE_LET(timeout, arguments.duration("--timeout"));
  SLUICE_LET(queues, context.queues());
  Waiter waiter(context, *queues, timeout);
  if (arguments.words().empty()) {
    if (!arguments.has("--all") && !arguments.has("--queue"))
      return error(Code::invalid_argument, "say what to wait for: ids, --queue NAME or --all");
    return wait_for_queues(context, *queues, waiter, arguments);
  }
  SLUICE_LET(refs, jobs_of(arguments));
  if (arguments.has("--propagate") && refs.size() != 1)
    return error(Code::invalid_argument, "--propagate is about one job");
  SLUICE_LET(waited, waiter.for_jobs(refs, arguments.has("--fail-fast")));
  if (waited.timed_out) {
    context.warn("not all jobs were over at the timeout");
    return kTimedOut;
  }
  if (arguments.has("--propagate")) return waited.exit_code.value_or(kFailed);
  int code = kOk;
  for (const auto& [id, state] : waited.states)
    if (state != State::completed) {
      context.warn(visible(id) + " is " + std::string(state_name(state)));
      code = kFailed;
    }
  return code;
}

}  // namespace

std::vector<Command> wait_commands() {
  return {
      {.name = "wait",
       .alias = "",
       .arguments = "ID... | --queue NAME | --all",
       .summary = "wait until jobs are over",
       .details =
           "Exit code 0 if every job completed, 1 if one did not, 124 after the timeout. For a\n"
           "queue: until nothing is left that could run.\n"
           "\n"
           "  id=$(queuectl enqueue \"make\") && queuectl wait $id && echo built\n"
           "  queuectl wait --queue default --timeout 1h",
       .options = {{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue},
                   {"--all", 'a', "", "all queues", Takes::nothing},
                   {"--timeout", 't', "TIME", "give up after this", Takes::text},
                   {"--fail-fast", 0, "", "end as soon as one has not completed", Takes::nothing},
                   {"--propagate", 0, "", "end with the job's own exit code", Takes::nothing}},
       .takes = Takes::job,
       .run = wait_command}};
}

}  // namespace sluice::cli
