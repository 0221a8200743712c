// SPDX-License-Identifier: MIT
#include <sluice/runtime/metrics.h>

#include <cstdio>

#include "cli/table.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/jobs.h"

namespace sluice::cli {
namespace {

using runtime::Metric;

Result<std::vector<Metric>> collect(Context& context) {
  SLUICE_LET(queues, context.queues());
  const WallTime now = queues->store().now();
  std::vector<Metric> metrics;
  const auto gauge = [&](std::string name, std::string help,
                         std::vector<std::pair<std::string, std::string>> labels, double value) {
    metrics.push_back({.name = std::move(name),
                       .help = std::move(help),
                       .labels = std::move(labels),
                       .value = value});
  };
  SLUICE_LET(all, queues->list_queues());
  for (const queue::Queue& queue : all) {
    SLUICE_LET(counts, count_states(*queues, queue.name));
    for (std::size_t i = 0; i < kStateCount; ++i)
      gauge("queuectl_jobs", "Jobs by queue and state.",
            {{"queue", queue.name}, {"state", std::string(state_name(static_cast<State>(i)))}},
            static_cast<double>(counts[i]));
    gauge("queuectl_queue_paused", "1 if the queue is paused.", {{"queue", queue.name}},
          queue.paused ? 1 : 0);
    SLUICE_LET(first, queues->list({.queue = queue.name, .lane = queue::Lane::ready, .limit = 1}));
    const Duration age = first.jobs.empty() ? Duration{} : now - first.jobs[0].enqueued;
    gauge("queuectl_oldest_pending_seconds", "Age of the pending job that is next.",
          {{"queue", queue.name}}, std::chrono::duration<double>(age).count());
  }
  SLUICE_LET(workers, live_workers(context));
  double alive = 0;
  double slots = 0;
  for (const worker::LiveWorker& one : workers)
    if (one.alive) {
      ++alive;
      slots += one.worker.slots;
    }
  gauge("queuectl_workers", "Running worker processes.", {}, alive);
  gauge("queuectl_worker_slots", "Slots of running workers.", {}, slots);
  const kv::Stats stats = queues->store().stats();
  gauge("queuectl_store_used_bytes", "Bytes in use in the store.", {},
        static_cast<double>(stats.used_bytes));
  gauge("queuectl_store_map_bytes", "The most that the store can hold.", {},
        static_cast<double>(stats.map_bytes));
  return metrics;
}

Result<int> metrics_command(Context& context, const Arguments& arguments) {
  SLUICE_LET(metrics, collect(context));
  if (arguments.has("--prometheus")) {
    context.print(runtime::prometheus_text(metrics));
    return kOk;
  }
  codec::json::Writer writer;
  writer.array();
  Table table{.columns = {{.title = "METRIC"},
                          {.title = "OF", .may_cut = true},
                          {.title = "VALUE", .align = Align::right}},
              .rows = {}};
  for (const Metric& metric : metrics) {
    std::string labels;
    writer.object().name("name").string(metric.name);
    for (const auto& [name, value] : metric.labels) {
      labels.append(labels.empty() ? "" : ", ").append(value);
      writer.name(name).string(value);
    }
    writer.name("value").number(metric.value).end_object();
    char number[32];
    std::snprintf(number, sizeof number, "%.15g", metric.value);
    table.rows.push_back({{metric.name}, {labels}, {number}});
  }
  writer.end_array();
  context.print(context.json() ? writer.take() + "\n" : render(table, look_of(context.out())));
  return kOk;
}

}  // namespace

std::vector<Command> metrics_commands() {
  return {{.name = "metrics",
           .alias = "",
           .arguments = "",
           .summary = "print numbers for monitoring",
           .details = "  queuectl metrics --prometheus > /var/lib/node_exporter/queuectl.prom",
           .options = {{"--prometheus", 0, "", "in the format of Prometheus", Takes::nothing}},
           .takes = Takes::nothing,
           .run = metrics_command}};
}

}  // namespace sluice::cli
