// SPDX-License-Identifier: MIT
// Jobs by the calendar.
#include "cli/duration.h"
#include "cli/size.h"
#include "cli/table.h"
#include "cli/time.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/job_spec.h"
#include "queuectl/job_view.h"

namespace sluice::cli {
namespace {

Result<std::string> name_of(const Arguments& arguments) {
  if (arguments.words().empty())
    return error(Code::invalid_argument, "say which schedule: its name");
  return arguments.words().front();
}

Result<JobSpec> read_spec(const Arguments& arguments, WallTime now) {
  SLUICE_LET(spec, spec_of(arguments, now));
  if (arguments.rest()) {
    spec.argv = *arguments.rest();
  } else if (arguments.words().size() == 2) {
    spec.text = arguments.words()[1];
  } else {
    return error(Code::invalid_argument,
                 "say a name and a command: queuectl schedule add nightly \"./backup\" --cron "
                 "\"0 3 * * *\"");
  }
  if (spec.id || spec.delay || spec.at || !spec.after.empty() || !spec.after_any.empty())
    return error(Code::invalid_argument,
                 "the jobs of a schedule have no --id, --delay, --at or --after of their own");
  return spec;
}

Result<int> schedule_add(Context& context, const Arguments& arguments) {
  SLUICE_LET(name, name_of(arguments));
  const auto cron = arguments.text("--cron");
  if (!cron)
    return error(Code::invalid_argument, "say when: --cron \"*/5 * * * *\" (UTC), or @daily");
  SLUICE_LET(spec, read_spec(arguments, context.clock().wall()));
  SLUICE_LET(config, context.config());
  SLUICE_LET(defaults, job_defaults(*config));
  SLUICE_LET(job, new_job(spec, defaults));
  SLUICE_LET(queues, context.queues());
  SLUICE_TRY(context.prepare_queue(job.queue));
  SLUICE_TRY(queues->store().run([&](kv::Transaction& txn) {
    return worker::keep_environment(txn, defaults.environment_id, defaults.environment,
                                    queues->store().now());
  }));
  queue::NewSchedule schedule{.queue = job.queue, .name = name, .cron = *cron};
  job.queue.clear();
  schedule.job = std::move(job);
  SLUICE_TRY(queues->put_schedule(schedule));
  SLUICE_LET(made, queues->get_schedule(schedule.queue, name));
  if (made.next)
    context.say("next at " + format_time(*made.next) + ", " +
                relative(*made.next, queues->store().now()));
  return kOk;
}

void write_schedule(codec::json::Writer& writer, const queue::Schedule& one,
                    const std::string& line) {
  const auto time = [&](std::string_view name, const std::optional<WallTime>& value) {
    writer.name(name);
    if (value)
      writer.string(format_time(*value));
    else
      writer.null();
  };
  writer.object().name("name").string(one.name).name("queue").string(one.queue);
  writer.name("cron").string(one.cron).name("command").string(line);
  writer.name("paused").boolean(one.paused);
  time("next_at", one.next);
  time("last_at", one.planned);
  writer.name("last_id").string(one.last_id).name("fired").number(one.fired);
  writer.name("skipped").number(one.skipped).end_object();
}

Result<int> schedule_list(Context& context, const Arguments& arguments) {
  SLUICE_LET(queues, context.queues());
  const WallTime now = queues->store().now();
  Table table{.columns = {{.title = "NAME"},
                          {.title = "QUEUE", .priority = 3},
                          {.title = "CRON"},
                          {.title = "NEXT", .priority = 1},
                          {.title = "FIRED", .align = Align::right, .priority = 2},
                          {.title = "COMMAND", .may_cut = true}},
              .rows = {}};
  codec::json::Writer writer;
  writer.array();
  SLUICE_LET(all, queues->list_queues());
  for (const queue::Queue& queue : all) {
    if (const auto only = arguments.text("--queue"); only && queue.name != *only) continue;
    SLUICE_LET(schedules, queues->list_schedules(queue.name));
    for (const queue::Schedule& one : schedules) {
      const auto command = worker::decode_command(one.job.payload);
      const std::string line = command ? worker::to_line(*command) : std::string();
      write_schedule(writer, one, line);
      table.rows.push_back({{one.name},
                            {one.queue},
                            {one.cron},
                            {one.paused ? "paused" : relative(one.next.value_or(now), now)},
                            {format_count(one.fired)},
                            {line}});
    }
  }
  writer.end_array();
  if (context.json())
    context.print(writer.take() + "\n");
  else if (table.rows.empty())
    context.say("no schedules: queuectl schedule add");
  else
    context.print(render(table, look_of(context.out())));
  return kOk;
}

/// The verbs that take the name alone.
Result<int> change(Context& context, const Arguments& arguments,
                   Status (queue::Queues::*verb)(std::string_view, std::string_view)) {
  SLUICE_LET(name, name_of(arguments));
  SLUICE_LET(queues, context.queues());
  SLUICE_TRY((queues->*verb)(queue_of(arguments), name));
  return kOk;
}

Result<int> schedule_rm(Context& context, const Arguments& arguments) {
  return change(context, arguments, &queue::Queues::remove_schedule);
}
Result<int> schedule_pause(Context& context, const Arguments& arguments) {
  return change(context, arguments, &queue::Queues::pause_schedule);
}
Result<int> schedule_resume(Context& context, const Arguments& arguments) {
  return change(context, arguments, &queue::Queues::resume_schedule);
}

Result<int> schedule_run(Context& context, const Arguments& arguments) {
  SLUICE_LET(name, name_of(arguments));
  SLUICE_LET(queues, context.queues());
  SLUICE_LET(id, queues->run_schedule(queue_of(arguments), name));
  context.print(visible(id) + "\n");
  return kOk;
}

Command simple(std::string_view name, std::string_view summary,
               Result<int> (*run)(Context&, const Arguments&)) {
  return {.name = name,
          .alias = "",
          .arguments = "NAME",
          .summary = summary,
          .details = "",
          .options = {{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue}},
          .takes = Takes::text,
          .run = run};
}

}  // namespace

std::vector<Command> schedule_commands() {
  std::vector<Option> options = job_options();
  options.push_back({"--cron", 'c', "CRON",
                     "minute hour day month weekday, in UTC; or @hourly, @daily", Takes::text});
  return {
      {.name = "schedule add",
       .alias = "",
       .arguments = "NAME COMMAND | NAME -- PROGRAM ARGS...",
       .summary = "enqueue a job by the calendar",
       .details =
           "Fires once however many workers run, and once after downtime. A schedule of the\n"
           "same name is replaced. With --dedup-key a run is skipped while one is unfinished.\n"
           "\n"
           "  queuectl schedule add nightly ./backup --cron \"0 3 * * *\"\n"
           "  queuectl schedule add ping --cron \"*/5 * * * *\" -- curl -fsS http://127.0.0.1/",
       .options = options,
       .takes = Takes::text,
       .run = schedule_add},
      {.name = "schedule list",
       .alias = "",
       .arguments = "",
       .summary = "list schedules and when they fire next",
       .details = "",
       .options = {{"--queue", 'Q', "NAME", "only of this queue", Takes::queue}},
       .takes = Takes::nothing,
       .run = schedule_list},
      simple("schedule rm", "remove a schedule; its jobs stay", schedule_rm),
      simple("schedule pause", "let a schedule rest", schedule_pause),
      simple("schedule resume", "go on with the next planned time", schedule_resume),
      simple("schedule run", "enqueue the schedule's job now, beside what is planned",
             schedule_run),
  };
}

}  // namespace sluice::cli
