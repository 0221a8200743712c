// SPDX-License-Identifier: MIT

#include "cli/time.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/job_view.h"

namespace sluice::cli {
namespace {

constexpr Duration kLookTimeMax = std::chrono::seconds(10);

/// The state that a lane means; a scheduled job that has run before waits out its backoff.
State state_in(queue::Lane lane, std::uint32_t attempt) {
  return state_of({.lane = lane, .attempts = attempt});
}

std::string line_of(const queue::Event& event, const Look& look) {
  const State to = state_in(event.to, event.attempt);
  std::string text = format_time(event.at) + "  " + paint(state_name(to), state_style(to), look) +
                     std::string(12 - std::min<std::size_t>(11, state_name(to).size()), ' ') +
                     visible(event.id);
  if (event.attempt > 0) text += "  run " + std::to_string(event.attempt);
  if (event.from) text += "  was " + std::string(state_name(state_in(*event.from, event.attempt)));
  return text + "\n";
}

std::string json_of(const queue::Event& event) {
  codec::json::Writer writer;
  writer.object().name("at").string(format_time(event.at)).name("id").string(event.id);
  writer.name("from");
  if (event.from)
    writer.string(state_name(state_in(*event.from, event.attempt)));
  else
    writer.null();
  writer.name("to").string(state_name(state_in(event.to, event.attempt)));
  writer.name("attempt").number(event.attempt).end_object();
  return writer.take() + "\n";
}

Result<int> watch(Context& context, const Arguments& arguments) {
  SLUICE_LET(count, arguments.number("--count", 1, INT64_MAX));
  SLUICE_LET(queues, context.queues());
  const std::string queue = queue_of(arguments);
  SLUICE_TRY(context.prepare_queue(queue));
  std::string cursor;
  if (!arguments.has("--from-start")) {
    SLUICE_LET(end, queues->events_end(queue));
    cursor = end;
  }
  const Look look = look_of(context.out());
  std::int64_t left = count.value_or(INT64_MAX);
  while (left > 0) {
    SLUICE_LET(
        page,
        queues->events(
            {.queue = queue, .after = cursor, .limit = queue::kPageMax, .wait = kLookTimeMax}));
    if (page.gap) context.warn("some events were missed: they were gone before they were read");
    std::string text;
    for (const queue::Event& event : page.events) {
      if (left-- <= 0) break;
      text += context.json() ? json_of(event) : line_of(event, look);
    }
    context.print(text);
    cursor = page.next;
  }
  return kOk;
}

}  // namespace

std::vector<Command> watch_commands() {
  return {{.name = "watch",
           .alias = "",
           .arguments = "",
           .summary = "print what happens to jobs, as it happens, until Ctrl-C",
           .details = "  queuectl watch --json | jq -r 'select(.to == \"dead\").id'",
           .options = {{"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue},
                       {"--from-start", 0, "", "begin with the oldest event that is kept",
                        Takes::nothing},
                       {"--count", 'n', "N", "end after N events", Takes::text}},
           .takes = Takes::nothing,
           .run = watch}};
}

}  // namespace sluice::cli
