// SPDX-License-Identifier: MIT
// backup, compact, export, import.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "cli/size.h"
#include "cli/time.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/job_spec.h"
#include "queuectl/jobs.h"
#include "worker/environments.h"

namespace sluice::cli {
namespace {

/// What the JSON writer puts for a byte that is not UTF-8.
constexpr std::string_view kReplaced = "\xef\xbf\xbd";

std::uint64_t file_bytes(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

Result<int> backup(Context& context, const Arguments& arguments) {
  if (arguments.words().size() != 1)
    return error(Code::invalid_argument, "say where to: queuectl backup FOLDER");
  SLUICE_LET(store, context.store());
  const std::string& target = arguments.words()[0];
  SLUICE_TRY(store->copy_to(target));
  context.say(format_size(file_bytes(target + "/data.mdb")) + " in " + visible(target) +
              "; queuectl --db " + visible(target) + " opens it");
  return kOk;
}

/// The environments that some job or schedule refers to.
Result<std::set<std::string>> used_environments(queue::Queues& queues) {
  std::set<std::string> used;
  const auto note = [&](const std::string& payload) {
    if (const auto command = worker::decode_command(payload)) used.insert(command->environment);
  };
  SLUICE_LET(all, queues.list_queues());
  for (const queue::Queue& queue : all) {
    queue::ListRequest request{.queue = queue.name, .limit = queue::kPageMax, .payload = true};
    do {
      SLUICE_LET(page, queues.list(request));
      for (const queue::Job& job : page.jobs) note(*job.payload);
      request.after = page.next;
    } while (!request.after.empty());
    SLUICE_LET(schedules, queues.list_schedules(queue.name));
    for (const queue::Schedule& one : schedules) note(one.job.payload);
  }
  return used;
}

Result<int> compact(Context& context, const Arguments&) {
  SLUICE_LET(queues, context.queues());
  const std::string file = context.dir() + "/data.mdb";
  const std::uint64_t before = file_bytes(file);
  const WallTime limit = queues->store().now() - worker::kEnvironmentUse;
  SLUICE_LET(used, used_environments(*queues));
  SLUICE_LET(dropped, worker::drop_environments(queues->store(), used, limit));
  context.detail(format_count(dropped) + " environments that no job uses were removed");
  context.close();
  if (const Status status = kv::compact_lmdb({.dir = context.dir()}); !status.ok()) {
    if (status.code() != Code::unavailable) return Failure{status};
    return error(Code::unavailable,
                 "the store is in use: stop the workers (queuectl worker stop) and other programs, "
                 "then try again");
  }
  context.say(format_size(before) + " before, " + format_size(file_bytes(file)) + " now");
  return kOk;
}

// --------------------------------------------------------------------------------- export, import

/// The members that `enqueue` reads, so that the text is good for both.
class Exporter {
 public:
  explicit Exporter(queue::Queues& queues) : environments_(queues.store()) {}

  Result<std::string> line(const JobView& view) {
    codec::json::Writer writer;
    const queue::Job& job = view.job;
    const worker::Command& command = *view.command;
    const auto text = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) writer.name(name).string(value);
    };
    writer.object().name("id").string(job.id).name("queue").string(job.queue);
    text("command", command.text);
    strings(writer, "argv", command.argv);
    writer.name("priority").number(job.priority);
    if (job.due && job.lane < queue::Lane::done)
      writer.name("run_at").string(format_time(*job.due));
    if (command.timeout != Duration{}) writer.name("timeout").number(seconds(command.timeout));
    writer.name("kill_after").number(seconds(command.kill_after));
    writer.name("max_retries").number(view.max_retries());
    if (job.retry) writer.name("backoff_base").number(seconds(job.retry->base));
    text("cwd", command.cwd);
    text("label", command.label);
    text("group", job.group);
    text("dedup_key", job.unique);
    text("on_done", command.on_done);
    if (command.slots != 1) writer.name("slots").number(command.slots);
    if (command.index) writer.name("index").number(*command.index);
    if (job.expires) writer.name("ttl").number(seconds(*job.expires - job.enqueued));
    codes(writer, "retry_on", command.retry_on);
    codes(writer, "no_retry_on", command.no_retry_on);
    if (view.state == State::held) writer.name("hold").boolean(true);
    SLUICE_TRY(environment(writer, command));
    after(writer, job);
    writer.name("state").string(state_name(view.state));
    writer.name("created_at").string(format_time(job.enqueued));
    return writer.end_object().take() + "\n";
  }

 private:
  static double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
  }
  static void strings(codec::json::Writer& writer, std::string_view name,
                      const std::vector<std::string>& all) {
    if (all.empty()) return;
    writer.name(name).array();
    for (const std::string& one : all) writer.string(one);
    writer.end_array();
  }
  static void codes(codec::json::Writer& writer, std::string_view name,
                    const std::vector<std::uint8_t>& all) {
    if (all.empty()) return;
    writer.name(name).array();
    for (const std::uint8_t one : all) writer.number(one);
    writer.end_array();
  }
  static void after(codec::json::Writer& writer, const queue::Job& job) {
    std::vector<std::string> strict;
    std::vector<std::string> any;
    for (const queue::After& one : job.after)
      (one.policy == queue::AfterPolicy::end ? any : strict).push_back(one.id);
    strings(writer, "after", strict);
    strings(writer, "after_any", any);
  }

  Status environment(codec::json::Writer& writer, const worker::Command& command) {
    SLUICE_LET(base, environments_.get(command.environment));
    writer.name("clean_env").boolean(true).name("env").object();
    std::set<std::string> named;
    const auto put = [&](const std::string& line) {
      const auto equals = line.find('=');
      if (equals == std::string::npos || !named.insert(line.substr(0, equals)).second) return;
      writer.name(line.substr(0, equals)).string(line.substr(equals + 1));
    };
    for (auto line = command.set.rbegin(); line != command.set.rend(); ++line) put(*line);
    for (const std::string& line : *base) put(line);
    writer.end_object();
    return {};
  }

  worker::EnvironmentCache environments_;
};

Result<int> export_jobs(Context& context, const Arguments& arguments) {
  SLUICE_LET(queues, context.queues());
  Exporter exporter(*queues);
  std::uint64_t written = 0;
  std::uint64_t passed = 0;
  std::uint64_t refused = 0;
  std::string buffer;
  SLUICE_LET(all, queues->list_queues());
  for (const queue::Queue& queue : all) {
    if (const auto only = arguments.text("--queue"); only && queue.name != *only) continue;
    // In the order in which they were enqueued, so that dependencies come before dependants.
    queue::ListRequest request{.queue = queue.name, .limit = queue::kPageMax, .payload = true};
    do {
      SLUICE_LET(page, queues->list(request));
      for (queue::Job& job : page.jobs) {
        JobView shown = view(std::move(job));
        const bool over = shown.job.lane >= queue::Lane::done;
        if (!shown.command || (over && !arguments.has("--all"))) {
          ++passed;
          continue;
        }
        if (shown.state == State::waiting || shown.state == State::held) {
          SLUICE_LET(whole, queues->get({queue.name, shown.job.id}, {.after = true}));
          shown.job.after = whole.after;
        }
        SLUICE_LET(line, exporter.line(shown));
        if (line.find(kReplaced) != std::string::npos) {
          context.warn(visible(shown.job.id) + " holds bytes that JSON cannot: not exported");
          ++refused;
          continue;
        }
        buffer += line;
        ++written;
      }
      context.print(buffer);
      buffer.clear();
      request.after = page.next;
    } while (!request.after.empty());
  }
  context.say(plural(written, "job") + " exported" +
              (passed > 0 ? ", " + format_count(passed) + " passed over (finished: --all)" : ""));
  return refused == 0 ? kOk : kFailed;
}

}  // namespace

std::vector<Command> keep_commands() {
  return {
      {.name = "backup",
       .alias = "",
       .arguments = "FOLDER",
       .summary = "write a consistent copy of the store while everything goes on",
       .details = "The folder must not exist, or be empty. Logs are not copied.\n"
                  "\n"
                  "  queuectl backup /backup/$(date +%F)",
       .options = {},
       .takes = Takes::folder,
       .run = backup},
      {.name = "compact",
       .alias = "",
       .arguments = "",
       .summary = "give unused space of the store back to the disk",
       .details = "Needs the store for itself: stop the workers first.",
       .options = {},
       .takes = Takes::nothing,
       .run = compact},
      {.name = "export",
       .alias = "",
       .arguments = "",
       .summary = "print jobs as JSON, one per line, for import elsewhere",
       .details = "Unfinished jobs of all queues, with their environment: it may hold secrets.\n"
                  "\n"
                  "  queuectl export > jobs.ndjson",
       .options = {{"--queue", 'Q', "NAME", "only of this queue", Takes::queue},
                   {"--all", 'a', "", "finished jobs too", Takes::nothing}},
       .takes = Takes::nothing,
       .run = export_jobs},
  };
}

}  // namespace sluice::cli
