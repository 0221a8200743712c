// SPDX-License-Identifier: MIT
#include "worker/worker.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "cli/duration.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "cli/table.h"
#include "cli/time.h"
#include "cli/visible.h"
#include "exec/process_tree.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/jobs.h"
#include "worker/places.h"

namespace sluice::cli {
namespace {

using worker::Happening;
using worker::Worker;

constexpr Duration kStopPeriod = std::chrono::milliseconds(20);

// What `worker stop` and `worker scale` send. Not SIGTERM: a second one of those means more than
// the first, and who stops a worker twice does not mean more.
constexpr int kDrainSignal = SIGUSR1;
constexpr int kHandBackSignal = SIGUSR2;
/// Carries a number of slots.
int scale_signal() {
  return SIGRTMIN;
}

// ------------------------------------------------------------------------------------------ start

/// Tells the person at the terminal what the worker does.
class Teller {
 public:
  Teller(const Context& context, queue::Queues& queues, const std::vector<std::string>& names,
         bool drain)
      : context_(context) {
    if (!drain || !context.err().is_terminal || context.quiet() || context.verbose()) return;
    std::uint64_t total = 0;
    for (const std::string& name : names)
      if (const auto counts = queues.count(name))
        total += counts->ready + counts->scheduled + counts->leased;
    bar_ = std::make_unique<ProgressBar>(
        context.clock(), [](std::string_view drawn) { write_all(2, drawn); },
        ProgressBar::Options{
            .label = "drain", .total = total, .width = context.err().extent.columns});
  }

  void tell(const Happening& what) {
    const bool over = what.kind == Happening::Kind::completed || what.kind == Happening::Kind::dead;
    if (over) ++done_;
    if (bar_) {
      bar_->update(done_);
      if (what.kind != Happening::Kind::dead) return;
      bar_->clear();
    }
    if (!context_.quiet()) write_all(2, line(what) + "\n");
  }

  void note(LogLevel level, std::string_view text) {
    if (level < LogLevel::warning && !context_.verbose()) return;
    if (bar_) bar_->clear();
    write_all(2, "queuectl: " + visible(text) + "\n");
  }

  void finish() {
    if (bar_) bar_->finish();
  }

 private:
  std::string line(const Happening& what) const {
    const auto [word, style] = word_of(what.kind);
    std::string text = format_time(context_.clock().wall()).substr(11, 8) + "  " +
                       paint(word, style, look_of(context_.err())) + "  " +
                       visible(std::string(what.id));
    if (what.kind == Happening::Kind::started) {
      if (what.attempt > 1) text += "  (run " + std::to_string(what.attempt) + ")";
      return text + "  " + visible(std::string(what.command));
    }
    if (what.report == nullptr) return text;
    if (!what.report->succeeded()) text += "  " + visible(worker::headline(*what.report));
    return text + "  " + format_duration(what.report->wall);
  }

  static std::pair<std::string, Style> word_of(Happening::Kind kind) {
    switch (kind) {
      case Happening::Kind::started:
        return {"started  ", Style::blue};
      case Happening::Kind::completed:
        return {"completed", Style::green};
      case Happening::Kind::failed:
        return {"failed   ", Style::yellow};
      case Happening::Kind::dead:
        return {"dead     ", Style::red};
      case Happening::Kind::handed_back:
        return {"put back ", Style::yellow};
      case Happening::Kind::lost:
        return {"taken    ", Style::yellow};
    }
    return {"", Style::plain};
  }

  const Context& context_;
  std::unique_ptr<ProgressBar> bar_;
  std::uint64_t done_ = 0;
};

Result<Descriptor> open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, kDrainSignal, kHandBackSignal, scale_signal()})
    sigaddset(&set, number);
  // Blocked in every thread: the signals are read, not handled.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Descriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid())
    return error(Code::unavailable, std::string("cannot open a signalfd: ") + std::strerror(errno));
  return signals;
}

void handle_signal(const signalfd_siginfo& info, Worker& worker, Teller& teller) {
  const auto number = static_cast<int>(info.ssi_signo);
  if (number == scale_signal()) {
    worker.scale(static_cast<unsigned>(std::max(1, info.ssi_int)));
    teller.note(LogLevel::warning,
                "now at " + plural(static_cast<std::uint64_t>(info.ssi_int), "slot"));
    return;
  }
  if (number == SIGHUP) {
    teller.note(LogLevel::warning,
                "settings are read by enqueue; start the worker again for its own");
    return;
  }
  const Worker::Stop before = worker.stopping();
  if (number == kDrainSignal)
    worker.stop(Worker::Stop::drain);
  else if (number == kHandBackSignal)
    worker.stop(Worker::Stop::hand_back);
  else
    worker.stop_harder();
  if (worker.running() == 0 || worker.stopping() == before) return;
  const std::string jobs = plural(worker.running(), "running job");
  if (worker.stopping() == Worker::Stop::drain)
    teller.note(LogLevel::warning, "letting " + jobs + " finish; Ctrl-C again stops them");
  else
    teller.note(LogLevel::warning, "stopping " + jobs + ", which go back to the queue");
}

Result<worker::WorkerOptions> worker_options(Context& context, const Arguments& arguments) {
  SLUICE_LET(config, context.config());
  worker::WorkerOptions options{
      .dir = context.dir(), .queues = arguments.all("--queue"), .drain = arguments.has("--drain")};
  if (options.queues.empty()) options.queues.emplace_back(kDefaultQueue);
  SLUICE_LET(count, arguments.number("--count", 1, worker::kSlotsMax));
  SLUICE_LET(standard, config->number("worker-count"));
  options.slots = static_cast<unsigned>(count.value_or(standard));
  SLUICE_LET(lease, config->duration("lease"));
  options.lease = lease;
  SLUICE_LET(output, config->size("output-limit"));
  options.output_bytes_max = output;
  SLUICE_LET(kept, config->duration("keep-logs"));
  options.logs_kept = kept;
  return options;
}

Result<int> worker_start(Context& context, const Arguments& arguments) {
  SLUICE_LET(options, worker_options(context, arguments));
  SLUICE_LET(signals, open_signals());
  SLUICE_LET(queues, context.queues());
  for (const std::string& name : options.queues) SLUICE_TRY(context.prepare_queue(name));
  Teller teller(context, *queues, options.queues, options.drain);
  options.tell = [&](const Happening& what) { teller.tell(what); };
  options.log = [&](LogLevel level, std::string_view line) { teller.note(level, line); };
  SLUICE_LET(worker, Worker::open(*queues, options));
  worker->watch(signals.get(), [&] {
    signalfd_siginfo info{};
    while (read(signals.get(), &info, sizeof info) == sizeof info)
      handle_signal(info, *worker, teller);
  });
  if (!options.drain)
    context.say("worker " + short_worker(worker->name()) + ": " + plural(options.slots, "slot") +
                "; Ctrl-C to stop");
  SLUICE_TRY(worker->run());
  teller.finish();
  return kOk;
}

// ------------------------------------------------------------------------------- stop, list, scale

/// The live workers that are meant: those named, else all. Only processes that provably are these
/// workers are signalled: a pid alone may be another's by now.
Result<std::vector<queue::Worker>> find_workers(Context& context, const exec::LockFile& locks,
                                                std::span<const std::string> names) {
  SLUICE_LET(all, live_workers(context));
  std::vector<queue::Worker> found;
  for (const worker::LiveWorker& one : all) {
    const std::string name = short_worker(one.worker.name);
    const bool meant = names.empty() || std::ranges::find(names, name) != names.end() ||
                       std::ranges::find(names, std::to_string(one.worker.pid)) != names.end();
    if (!one.alive || !meant) continue;
    if (!exec::holds_lock(static_cast<pid_t>(one.worker.pid), locks,
                          worker::worker_place(one.worker.name))) {
      context.warn("worker " + visible(name) +
                   " runs out of reach, as in a container or as another user");
      continue;
    }
    found.push_back(one.worker);
  }
  if (found.empty() && !names.empty())
    return error(Code::not_found, "there is no running worker " + in_quotes(names.front()) +
                                      ": see queuectl worker list");
  return found;
}

Result<int> worker_stop(Context& context, const Arguments& arguments) {
  SLUICE_LET(timeout, arguments.duration("--timeout"));
  SLUICE_TRY(context.queues());
  SLUICE_LET(locks, exec::LockFile::open(worker::lock_path(context.dir())));
  SLUICE_LET(workers, find_workers(context, locks, arguments.words()));
  if (workers.empty()) {
    context.say("no workers are running");
    return kOk;
  }
  for (const queue::Worker& one : workers)
    kill(static_cast<pid_t>(one.pid), arguments.has("--force") ? kHandBackSignal : kDrainSignal);
  if (arguments.has("--no-wait")) return kOk;
  context.say("stopping " + plural(workers.size(), "worker") +
              (arguments.has("--force") ? "" : "; running jobs are finished first"));
  const MonoTime until = timeout ? context.clock().mono() + *timeout : MonoTime::max();
  for (const queue::Worker& one : workers)
    for (;;) {
      SLUICE_LET(held, locks.held(worker::worker_place(one.name)));
      if (!held) break;
      if (context.clock().mono() >= until) {
        context.warn("some workers still run: --force puts their jobs back");
        return kTimedOut;
      }
      context.clock().sleep_for(kStopPeriod, {});
    }
  context.say(plural(workers.size(), "worker") + " stopped");
  return kOk;
}

Result<int> worker_list(Context& context, const Arguments&) {
  SLUICE_LET(all, live_workers(context));
  SLUICE_LET(queues, context.queues());
  const WallTime now = queues->store().now();
  Table table{.columns = {{.title = "WORKER", .may_cut = true},
                          {.title = "PID", .align = Align::right},
                          {.title = "SLOTS", .align = Align::right},
                          {.title = "STARTED", .priority = 1},
                          {.title = "QUEUES", .may_cut = true, .priority = 2},
                          {.title = "STATE", .priority = 1}},
              .rows = {}};
  codec::json::Writer writer;
  writer.array();
  for (const worker::LiveWorker& one : all) {
    std::string names;
    for (const std::string& name : one.worker.queues)
      names.append(names.empty() ? "" : ",").append(name);
    table.rows.push_back({{short_worker(one.worker.name)},
                          {std::to_string(one.worker.pid)},
                          {std::to_string(one.worker.slots)},
                          {relative(one.worker.started, now), Style::dim},
                          {names},
                          {one.alive ? "running" : "gone", one.alive ? Style::green : Style::red}});
    writer.object().name("name").string(short_worker(one.worker.name));
    writer.name("pid").number(one.worker.pid).name("slots").number(one.worker.slots);
    writer.name("host").string(one.worker.host).name("alive").boolean(one.alive);
    writer.name("started_at").string(format_time(one.worker.started)).name("queues").array();
    for (const std::string& name : one.worker.queues) writer.string(name);
    writer.end_array().end_object();
  }
  writer.end_array();
  if (context.json())
    context.print(writer.take() + "\n");
  else if (all.empty())
    context.say("no workers: queuectl worker start");
  else
    context.print(render(table, look_of(context.out())));
  return kOk;
}

Result<int> worker_scale(Context& context, const Arguments& arguments) {
  if (arguments.words().empty())
    return error(Code::invalid_argument, "say how many slots: queuectl worker scale 4");
  SLUICE_LET(slots,
             parse_number("the number of slots", arguments.words()[0], 1, worker::kSlotsMax));
  SLUICE_TRY(context.queues());
  SLUICE_LET(locks, exec::LockFile::open(worker::lock_path(context.dir())));
  SLUICE_LET(workers, find_workers(context, locks, std::span(arguments.words()).subspan(1)));
  if (workers.empty()) return error(Code::not_found, "no workers are running");
  for (const queue::Worker& one : workers)
    sigqueue(static_cast<pid_t>(one.pid), scale_signal(), {.sival_int = static_cast<int>(slots)});
  context.say(plural(workers.size(), "worker") + " now at " +
              plural(static_cast<std::uint64_t>(slots), "slot"));
  return kOk;
}

}  // namespace

std::vector<Command> worker_commands() {
  return {
      {.name = "worker start",
       .alias = "",
       .arguments = "",
       .summary = "run jobs here until Ctrl-C",
       .details =
           "Ctrl-C once: finishes the jobs that run, then ends. Twice: stops them, and they go\n"
           "back to the queue. The same with SIGTERM, and from anywhere with queuectl worker\n"
           "stop. Start as many workers as you like, from any terminal. The jobs of a worker\n"
           "that is killed are seen by the others at once; what it left running is ended\n"
           "before they run again.\n"
           "\n"
           "  queuectl worker start --count 3\n"
           "  queuectl worker start --count 2 --drain     exit 0 when nothing is left to run",
       .options = {{"--count", 'n', "N", "jobs at once; default: the setting worker-count",
                    Takes::text},
                   {"--queue", 'Q', "NAME", "serve this queue; default: default", Takes::queue,
                    true},
                   {"--drain", 'd', "", "end when nothing is left to run, retries included",
                    Takes::nothing}},
       .takes = Takes::nothing,
       .run = worker_start},
      {.name = "worker stop",
       .alias = "",
       .arguments = "[WORKER...]",
       .summary = "stop all workers, or some, once their jobs are finished",
       .details = "  queuectl worker stop\n  queuectl worker stop --timeout 30s || queuectl worker "
                  "stop --force",
       .options = {{"--timeout", 't', "TIME", "wait no longer than this", Takes::text},
                   {"--force", 0, "", "put the jobs that run back into the queue", Takes::nothing},
                   {"--no-wait", 0, "", "do not wait until they have ended", Takes::nothing}},
       .takes = Takes::worker,
       .run = worker_stop},
      {.name = "worker list",
       .alias = "",
       .arguments = "",
       .summary = "list the workers of this store",
       .details = "",
       .options = {},
       .takes = Takes::nothing,
       .run = worker_list},
      {.name = "worker scale",
       .alias = "",
       .arguments = "N [WORKER...]",
       .summary = "change how many jobs running workers run at once",
       .details = "  queuectl worker scale 4",
       .options = {},
       .takes = Takes::worker,
       .run = worker_scale},
  };
}

}  // namespace sluice::cli
