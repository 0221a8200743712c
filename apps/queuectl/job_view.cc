// SPDX-License-Identifier: MIT
#include "queuectl/job_view.h"

#include <sluice/backoff.h>

#include <algorithm>

#include "cli/suggest.h"
#include "cli/time.h"
#include "cli/visible.h"
#include "worker/places.h"

namespace sluice::cli {
namespace {

using queue::Lane;

constexpr std::array<std::string_view, kStateCount> kNames{"processing", "pending",   "failed",
                                                           "scheduled",  "waiting",   "held",
                                                           "dead",       "completed", "cancelled"};

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void write_time(codec::json::Writer& writer, std::string_view name,
                const std::optional<WallTime>& time) {
  writer.name(name);
  if (time)
    writer.string(format_time(*time));
  else
    writer.null();
}

void write_run(codec::json::Writer& writer, const JobView& view) {
  const auto exit_code = view.exit_code();
  writer.name("exit_code");
  if (exit_code)
    writer.number(*exit_code);
  else
    writer.null();
  writer.name("last_error");
  if (const std::string text = view.last_error(); !text.empty())
    writer.string(text);
  else
    writer.null();
  if (!view.report) return;
  writer.name("duration").number(seconds(view.report->wall));
  writer.name("user_time").number(seconds(view.report->user));
  writer.name("system_time").number(seconds(view.report->system));
  writer.name("memory_bytes").number(view.report->rss_bytes);
  writer.name("output_bytes").number(view.report->output_bytes);
}

void write_command(codec::json::Writer& writer, const worker::Command& command) {
  if (!command.argv.empty()) {
    writer.name("argv").array();
    for (const std::string& word : command.argv) writer.string(word);
    writer.end_array();
  }
  if (!command.cwd.empty()) writer.name("cwd").string(command.cwd);
  if (!command.label.empty()) writer.name("label").string(command.label);
  if (command.timeout != Duration{}) writer.name("timeout").number(seconds(command.timeout));
  if (command.slots != 1) writer.name("slots").number(command.slots);
  if (command.index) writer.name("index").number(*command.index);
  if (!command.on_done.empty()) writer.name("on_done").string(command.on_done);
}

}  // namespace

std::string_view state_name(State state) {
  return kNames.at(static_cast<std::size_t>(state));
}

Result<State> parse_state(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<State>(i);
  std::string known;
  for (const auto one : kNames) known.append(known.empty() ? "" : ", ").append(one);
  const std::string meant = did_you_mean(name, kNames);
  return error(Code::invalid_argument, "there is no state " + in_quotes(name) + ": " +
                                           (meant.empty() ? "there are " + known : meant));
}

Style state_style(State state) {
  switch (state) {
    case State::processing:
      return Style::blue;
    case State::pending:
      return Style::plain;
    case State::failed:
      return Style::yellow;
    case State::scheduled:
    case State::waiting:
    case State::held:
      return Style::cyan;
    case State::dead:
      return Style::red;
    case State::completed:
      return Style::green;
    case State::cancelled:
      return Style::dim;
  }
  return Style::plain;
}

Lane lane_of(State state) {
  switch (state) {
    case State::processing:
      return Lane::leased;
    case State::pending:
      return Lane::ready;
    case State::failed:
    case State::scheduled:
      return Lane::scheduled;
    case State::waiting:
      return Lane::waiting;
    case State::held:
      return Lane::held;
    case State::dead:
      return Lane::dead;
    case State::completed:
      return Lane::done;
    case State::cancelled:
      return Lane::cancelled;
  }
  return Lane::ready;
}

State state_of(const queue::Job& job) {
  switch (job.lane) {
    case Lane::waiting:
      return State::waiting;
    case Lane::held:
      return State::held;
    case Lane::scheduled:
      return job.attempts > 0 ? State::failed : State::scheduled;
    case Lane::ready:
      return State::pending;
    case Lane::leased:
      return State::processing;
    case Lane::done:
      return State::completed;
    case Lane::dead:
      return State::dead;
    case Lane::cancelled:
      return State::cancelled;
  }
  return State::pending;
}

JobView view(queue::Job job) {
  JobView made{.state = state_of(job)};
  if (job.payload)
    if (auto command = worker::decode_command(*job.payload)) made.command = std::move(*command);
  if (!job.result.empty())
    made.report = worker::parse_report(job.result);
  else if (!job.error.empty())
    made.report = worker::parse_report(job.error);
  made.job = std::move(job);
  return made;
}

std::string JobView::line() const {
  if (command) return worker::to_line(*command);
  return job.payload ? job.payload->substr(0, 200) : std::string();
}

std::uint32_t JobView::max_retries() const {
  return job.retry ? job.retry->attempts_max : queue::RetryPolicy{}.attempts_max;
}

std::optional<int> JobView::exit_code() const {
  return report ? report->exit_code : std::nullopt;
}

std::string JobView::last_error() const {
  if (report && !report->succeeded()) return worker::headline(*report);
  if (state != State::dead) return {};
  switch (job.reason) {
    case queue::DeathReason::expired:
      return "nobody ran it in time";
    case queue::DeathReason::orphaned:
      return "a job that it waited for was removed";
    default:
      return queue::reason_name(job.reason);
  }
}

// The store keeps when a job was enqueued, claimed and finished. When its last run failed is in its
// history, if that was read too.
WallTime JobView::updated() const {
  WallTime latest = job.enqueued;
  if (job.claimed) latest = std::max(latest, *job.claimed);
  if (job.finished) latest = std::max(latest, *job.finished);
  if (!job.history.empty()) latest = std::max(latest, job.history.back().ended);
  return latest;
}

std::string short_worker(std::string_view worker) {
  return std::string(worker::short_name(worker));
}

void write_json(codec::json::Writer& writer, const JobView& view,
                const std::function<void()>& more) {
  const queue::Job& job = view.job;
  writer.object();
  writer.name("id").string(job.id);
  writer.name("queue").string(job.queue);
  writer.name("command").string(view.line());
  writer.name("state").string(state_name(view.state));
  writer.name("attempts").number(job.attempts);
  writer.name("max_retries").number(view.max_retries());
  writer.name("priority").number(job.priority);
  write_time(writer, "created_at", job.enqueued);
  write_time(writer, "updated_at", view.updated());
  write_time(writer, "run_at", job.due ? job.due : job.enqueued);
  write_time(writer, "started_at", job.claimed);
  write_time(writer, "finished_at", job.finished);
  write_run(writer, view);
  writer.name("worker");
  if (job.worker.empty())
    writer.null();
  else
    writer.string(short_worker(job.worker));
  if (!job.group.empty()) writer.name("group").string(job.group);
  if (!job.schedule.empty()) writer.name("schedule").string(job.schedule);
  if (view.command) write_command(writer, *view.command);
  if (more) more();
  writer.end_object();
}

}  // namespace sluice::cli
