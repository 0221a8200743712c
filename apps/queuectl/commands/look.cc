// SPDX-License-Identifier: MIT
// list, show, status.
#include <algorithm>
#include <functional>

#include "cli/duration.h"
#include "cli/size.h"
#include "cli/table.h"
#include "cli/time.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/job_view.h"
#include "queuectl/jobs.h"
#include "worker/recovery.h"

namespace sluice::cli {
namespace {

constexpr std::int64_t kRowsShown = 100;

// ------------------------------------------------------------------------------------------- list

std::string when_of(const JobView& view, WallTime now) {
  switch (view.state) {
    case State::processing:
      return "started " + relative(view.updated(), now);
    case State::failed:
      return "retry " + relative(view.job.due.value_or(now), now);
    case State::scheduled:
      return "due " + relative(view.job.due.value_or(now), now);
    case State::dead:
    case State::completed:
    case State::cancelled:
      return relative(view.updated(), now);
    default:
      return "added " + relative(view.job.enqueued, now);
  }
}

Table job_table() {
  return {.columns = {{.title = "ID", .may_cut = true, .priority = 0, .width_min = 12},
                      {.title = "STATE", .priority = 0},
                      {.title = "TRIES", .align = Align::right, .priority = 2},
                      {.title = "PRIO", .align = Align::right, .priority = 4},
                      {.title = "WHEN", .priority = 1},
                      {.title = "COMMAND", .may_cut = true, .priority = 0, .width_min = 12},
                      {.title = "ERROR", .may_cut = true, .priority = 3, .width_min = 12}},
          .rows = {}};
}

void add_row(Table& table, const JobView& view, WallTime now) {
  const queue::Job& job = view.job;
  table.rows.push_back({{job.id},
                        {std::string(state_name(view.state)), state_style(view.state)},
                        {std::to_string(job.attempts) + "/" + std::to_string(view.max_retries())},
                        {std::to_string(job.priority)},
                        {when_of(view, now), Style::dim},
                        {view.line()},
                        {view.last_error(), Style::red}});
}

Result<std::vector<State>> states_of(const Arguments& arguments) {
  std::vector<State> states;
  for (const std::string& name : arguments.all("--state")) {
    SLUICE_LET(state, parse_state(name));
    states.push_back(state);
  }
  for (std::size_t i = 0; states.size() < kStateCount && arguments.all("--state").empty(); ++i)
    states.push_back(static_cast<State>(i));
  return states;
}

/// As JSON, one job at a time, so that a million jobs need no more memory than one.
Result<int> list_json(const Context& context, queue::Queues& queues, const JobQuery& query) {
  context.print("[");
  std::string buffer;
  bool first = true;
  SLUICE_TRY(each_job(queues, query, [&](JobView& view) -> Result<bool> {
    if (view.state == State::failed) SLUICE_TRY(add_history(queues, view));
    codec::json::Writer writer;
    write_json(writer, view);
    buffer.append(first ? "\n" : ",\n").append(writer.text());
    first = false;
    if (buffer.size() > 1 << 16) {
      context.print(buffer);
      buffer.clear();
    }
    return true;
  }));
  context.print(buffer + (first ? "]\n" : "\n]\n"));
  return kOk;
}

Result<int> list(Context& context, const Arguments& arguments) {
  SLUICE_LET(states, states_of(arguments));
  SLUICE_LET(limit, arguments.number("--limit", 0, INT64_MAX));
  SLUICE_LET(queues, context.queues());
  JobQuery query{.queue = queue_of(arguments), .states = states};
  if (limit && *limit > 0) query.limit = static_cast<std::uint64_t>(*limit);
  if (const auto group = arguments.text("--group")) query.group = *group;
  if (const auto label = arguments.text("--label")) query.label = *label;
  if (context.json()) return list_json(context, *queues, query);
  const bool cut = context.out().is_terminal && !limit;
  if (cut) query.limit = kRowsShown + 1;
  Table table = job_table();
  const WallTime now = queues->store().now();
  bool more = false;
  SLUICE_TRY(each_job(*queues, query, [&](JobView& view) -> Result<bool> {
    more = cut && table.rows.size() == kRowsShown;
    if (!more) add_row(table, view, now);
    return !more;
  }));
  if (table.rows.empty()) {
    context.say("no jobs" + std::string(arguments.has("--state") ? " in that state" : "") +
                " in the queue " + visible(query.queue));
    return kOk;
  }
  context.print(render(table, look_of(context.out())));
  if (more) context.say("... and more: --limit 0 shows all, --state one kind");
  return kOk;
}

// ------------------------------------------------------------------------------------------- show

void add_line(std::string& text, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  std::string left(name);
  left.resize(std::max<std::size_t>(left.size() + 1, 14), ' ');
  text += left + visible(value) + "\n";
}

std::string history_text(const JobView& view, WallTime now) {
  std::string text;
  for (const queue::Attempt& attempt : view.job.history) {
    const worker::Report report = worker::parse_report(attempt.error);
    const std::string how = attempt.outcome == queue::Outcome::acked
                                ? "completed"
                                : (attempt.error.empty() ? queue::outcome_name(attempt.outcome)
                                                         : worker::headline(report));
    text += "  " + std::to_string(attempt.number) + "  " + format_time(attempt.started) + "  " +
            format_duration(attempt.ended - attempt.started) + "  " + visible(how) + "  (" +
            relative(attempt.ended, now) + ")\n";
  }
  return text.empty() ? text : "\nRuns:\n" + text;
}

std::string show_text(const JobView& view, const std::vector<std::string>& reasons, WallTime now) {
  const queue::Job& job = view.job;
  std::string text;
  add_line(text, "id", job.id);
  add_line(text, "queue", job.queue);
  add_line(text, "state", std::string(state_name(view.state)));
  add_line(text, "command", view.line());
  if (view.command) {
    add_line(text, "label", view.command->label);
    add_line(text, "cwd", view.command->cwd);
    if (view.command->timeout != Duration{})
      add_line(text, "timeout", format_duration(view.command->timeout));
    add_line(text, "on done", view.command->on_done);
  }
  add_line(text, "attempts",
           std::to_string(job.attempts) + " of " + std::to_string(view.max_retries()));
  add_line(text, "priority", std::to_string(job.priority));
  add_line(text, "group", job.group);
  add_line(text, "enqueued", format_time(job.enqueued) + "  " + relative(job.enqueued, now));
  if (job.due) add_line(text, "run at", format_time(*job.due) + "  " + relative(*job.due, now));
  if (job.finished)
    add_line(text, "finished", format_time(*job.finished) + "  " + relative(*job.finished, now));
  add_line(text, "worker", short_worker(job.worker));
  for (const queue::After& after : job.after) add_line(text, "after", after.id);
  if (const auto code = view.exit_code()) add_line(text, "exit code", std::to_string(*code));
  add_line(text, "last error", view.last_error());
  if (view.report && view.report->wall != Duration{})
    add_line(text, "used",
             format_duration(view.report->wall) + " wall, " + format_duration(view.report->user) +
                 " user, " + format_duration(view.report->system) + " system, " +
                 format_size(view.report->rss_bytes) + ", " +
                 format_size(view.report->output_bytes) + " of output");
  text += history_text(view, now);
  if (!reasons.empty()) text += "\nWhy it is not running:\n";
  for (const std::string& reason : reasons) text += "  " + visible(reason) + "\n";
  return text;
}

void write_history(codec::json::Writer& writer, const JobView& view) {
  writer.name("runs").array();
  for (const queue::Attempt& attempt : view.job.history) {
    writer.object();
    writer.name("attempt").number(attempt.number);
    writer.name("started_at").string(format_time(attempt.started));
    writer.name("ended_at").string(format_time(attempt.ended));
    writer.name("worker").string(short_worker(attempt.worker));
    writer.name("outcome").string(queue::outcome_name(attempt.outcome));
    if (!attempt.error.empty())
      writer.name("error").string(worker::headline(worker::parse_report(attempt.error)));
    writer.end_object();
  }
  writer.end_array();
}

Result<int> show(Context& context, const Arguments& arguments) {
  SLUICE_LET(refs, jobs_of(arguments));
  SLUICE_LET(queues, context.queues());
  const WallTime now = queues->store().now();
  codec::json::Writer writer;
  if (context.json()) writer.array();
  std::string text;
  for (const queue::JobRef& ref : refs) {
    SLUICE_LET(shown, get_job(*queues, ref, {.payload = true, .history = true, .after = true}));
    std::vector<std::string> reasons;
    const bool unfinished = shown.job.lane < queue::Lane::done;
    if (unfinished && shown.state != State::processing) {
      SLUICE_LET(explained, queues->explain(ref));
      reasons = explained.reasons;
    }
    if (context.json()) {
      write_json(writer, shown, [&] { write_history(writer, shown); });
    } else {
      text += (text.empty() ? "" : "\n") + show_text(shown, reasons, now);
    }
  }
  context.print(context.json() ? writer.end_array().take() + "\n" : text);
  return kOk;
}

// ----------------------------------------------------------------------------------------- status

struct QueueStatus {
  std::string name = {};
  bool paused = false;
  StateCounts counts = {};
  std::optional<WallTime> oldest = {};  ///< Of the pending jobs.
};

Result<std::vector<QueueStatus>> status_of_queues(queue::Queues& queues,
                                                  const std::optional<std::string>& only) {
  std::vector<QueueStatus> all;
  std::string after;
  for (;;) {
    SLUICE_LET(page, queues.list_queues(after));
    for (const queue::Queue& queue : page) {
      if (only && queue.name != *only) continue;
      SLUICE_LET(counts, count_states(queues, queue.name));
      QueueStatus one{.name = queue.name, .paused = queue.paused, .counts = counts};
      const bool any = counts[static_cast<std::size_t>(State::pending)] > 0;
      if (const auto first =
              !any ? Result<queue::Page>(queue::Page{})
                   : queues.list({.queue = queue.name, .lane = queue::Lane::ready, .limit = 1});
          first && !first->jobs.empty())
        one.oldest = first->jobs.front().enqueued;
      all.push_back(std::move(one));
    }
    if (page.size() < queue::kPageMax) return all;
    after = page.back().name;
  }
}

std::string status_json(const std::vector<QueueStatus>& all,
                        const std::vector<worker::LiveWorker>& workers, const std::string& dir) {
  StateCounts sum{};
  for (const QueueStatus& one : all)
    for (std::size_t i = 0; i < kStateCount; ++i) sum[i] += one.counts[i];
  codec::json::Writer writer(codec::json::Layout::pretty);
  const auto write_counts = [&](const StateCounts& counts) {
    for (std::size_t i = 0; i < kStateCount; ++i)
      writer.name(state_name(static_cast<State>(i))).number(counts[i]);
  };
  writer.object().name("db").string(dir);
  write_counts(sum);
  writer.name("jobs").object();
  write_counts(sum);
  writer.end_object().name("queues").array();
  for (const QueueStatus& one : all) {
    writer.object().name("name").string(one.name).name("paused").boolean(one.paused);
    write_counts(one.counts);
    writer.name("oldest_pending");
    if (one.oldest)
      writer.string(format_time(*one.oldest));
    else
      writer.null();
    writer.end_object();
  }
  writer.end_array().name("workers").array();
  std::uint64_t active = 0;
  for (const worker::LiveWorker& one : workers) {
    if (!one.alive) continue;
    ++active;
    writer.object().name("name").string(short_worker(one.worker.name));
    writer.name("pid").number(one.worker.pid).name("slots").number(one.worker.slots);
    writer.name("started_at").string(format_time(one.worker.started)).end_object();
  }
  return writer.end_array().name("active_workers").number(active).end_object().take() + "\n";
}

std::string status_text(const std::vector<QueueStatus>& all,
                        const std::vector<worker::LiveWorker>& workers, const Look& look,
                        WallTime now) {
  Table table{.columns = {{.title = "QUEUE", .may_cut = true, .priority = 0, .width_min = 6}},
              .rows = {}};
  // Columns of states that nothing is in say little, except for the main ones.
  std::vector<State> shown;
  for (std::size_t i = 0; i < kStateCount; ++i) {
    const auto state = static_cast<State>(i);
    const bool main = state <= State::failed || state == State::dead || state == State::completed;
    if (main || std::ranges::any_of(all, [&](const auto& one) { return one.counts[i] > 0; }))
      shown.push_back(state);
  }
  for (const State state : shown) {
    std::string title(state_name(state));
    std::ranges::transform(title, title.begin(),
                           [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    table.columns.push_back({.title = title, .align = Align::right, .priority = 1});
  }
  table.columns.push_back({.title = "OLDEST", .priority = 2});
  for (const QueueStatus& one : all) {
    std::vector<Cell> row{{one.name + (one.paused ? " (paused)" : "")}};
    for (const State state : shown) {
      const std::uint64_t count = one.counts[static_cast<std::size_t>(state)];
      row.push_back({format_count(count), count > 0 ? state_style(state) : Style::dim});
    }
    row.push_back({one.oldest ? relative(*one.oldest, now) : "", Style::dim});
    table.rows.push_back(std::move(row));
  }
  std::string text = all.empty() ? "no queues yet\n" : render(table, look);
  std::uint64_t live = 0;
  std::uint64_t slots = 0;
  for (const worker::LiveWorker& one : workers)
    if (one.alive) {
      ++live;
      slots += one.worker.slots;
    }
  text += "\nworkers: " + format_count(live) + " running, " + plural(slots, "slot");
  if (workers.size() > live)
    text += ", " + format_count(workers.size() - live) + " gone (the next worker takes over)";
  return text + "\n";
}

Result<int> status(Context& context, const Arguments& arguments) {
  SLUICE_LET(queues, context.queues());
  SLUICE_LET(all, status_of_queues(*queues, arguments.text("--queue")));
  if (all.empty() && arguments.has("--queue"))
    return error(Code::not_found, "there is no queue " + in_quotes(queue_of(arguments)));
  SLUICE_LET(workers, live_workers(context));
  context.print(context.json()
                    ? status_json(all, workers, context.dir())
                    : status_text(all, workers, look_of(context.out()), queues->store().now()));
  return kOk;
}

}  // namespace

std::vector<Command> look_commands() {
  const Option queue{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue};
  return {
      {.name = "list",
       .alias = "ls",
       .arguments = "",
       .summary = "list jobs",
       .details =
           "States: pending, processing, failed (waits out its backoff), scheduled, waiting (for\n"
           "other jobs), held, dead, completed, cancelled. A terminal shows the first 100.\n"
           "\n"
           "  queuectl list --state pending --json\n"
           "  queuectl list --state failed --state dead",
       .options = {{"--state", 's', "STATE", "only jobs in this state", Takes::state, true},
                   queue,
                   {"--limit", 'n', "N", "at most this many; 0: all", Takes::text},
                   {"--group", 'g', "NAME", "only jobs of this group", Takes::text},
                   {"--label", 'l', "TEXT", "only jobs with this label", Takes::text}},
       .takes = Takes::nothing,
       .run = list},
      {.name = "show",
       .alias = "",
       .arguments = "ID...",
       .summary = "show all there is to know of a job, and why it is not running",
       .details = "  queuectl show job1\n  queuectl show job1 --json | jq '.[0].runs'",
       .options = {queue},
       .takes = Takes::job,
       .run = show},
      {.name = "status",
       .alias = "",
       .arguments = "",
       .summary = "count jobs by state, and workers",
       .details = "  queuectl status\n  queuectl status --json | jq .pending",
       .options = {{"--queue", 'Q', "NAME", "only this queue", Takes::queue}},
       .takes = Takes::nothing,
       .run = status},
  };
}

}  // namespace sluice::cli
