// SPDX-License-Identifier: MIT
// verify, doctor.
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmath>

#include "cli/duration.h"
#include "cli/look.h"
#include "cli/self.h"
#include "cli/size.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/jobs.h"
#include "worker/report.h"

namespace sluice::cli {
namespace {

constexpr std::uint64_t kDiskBytesMin = std::uint64_t{256} << 20;
constexpr Duration kClockTolerated = std::chrono::minutes(1);

struct Verdict {
  int code = kOk;
  std::string text = {};  ///< What the check printed, or how it ended.
};

/// A damaged file can crash whoever reads it, so the reading is done by a process of its own.
Result<Verdict> verify_in_child(const Context& context) {
  std::vector<std::string> arguments{"verify", "--here", "--db", context.dir()};
  if (context.json()) arguments.emplace_back("--json");
  SLUICE_LET(run, run_self(std::move(arguments)));
  if (!run.signal.empty())
    run = {.exit_code = kStorage,
           .output = "the store is damaged: reading it ended with " + run.signal +
                     ". Restore a backup (queuectl backup).\n"};
  Verdict verdict{.code = run.exit_code == kFailed ? kStorage : run.exit_code,
                  .text = std::move(run.output)};
  // What kept it from being read at all is a message, not a report.
  if (context.json() && !verdict.text.starts_with('{')) {
    codec::json::Writer writer;
    writer.object().name("clean").boolean(false).name("error").string(verdict.text).end_object();
    verdict.text = writer.take() + "\n";
  }
  return verdict;
}

Result<int> verify(Context& context, const Arguments& arguments) {
  if (!arguments.has("--here")) {
    SLUICE_LET(verdict, verify_in_child(context));
    context.print(verdict.text);
    return verdict.code;
  }
  SLUICE_LET(store, context.store());
  SLUICE_LET(report, queue::verify(*store));
  context.print(context.json() ? report.to_json() + "\n" : report.to_text());
  return report.exit_code();
}

// ----------------------------------------------------------------------------------------- doctor

enum class Health : std::uint8_t { good, odd, bad };

struct Finding {
  Health health = Health::good;
  std::string what = {};
};

Finding check_disk(const std::string& dir) {
  struct statvfs info{};
  if (statvfs(dir.c_str(), &info) != 0) return {Health::bad, "the disk cannot be asked for room"};
  const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
  const std::string text = format_size(free) + " of disk are free";
  return {free < kDiskBytesMin ? Health::bad : Health::good,
          free < kDiskBytesMin ? text + ": make room, or enqueue will be refused" : text};
}

Finding check_space(const kv::Stats& stats) {
  const std::string text = format_size(stats.used_bytes) + " of the store's " +
                           format_size(stats.map_bytes) + " are in use";
  if (stats.used_bytes <= stats.map_bytes / 5 * 4) return {Health::good, text};
  return {Health::odd, text + ": purge jobs, or set store-size to more"};
}

Finding check_clock(const Context& context, const kv::Store& store) {
  const Duration ahead = store.now() - context.clock().wall();
  if (std::chrono::abs(ahead) <= kClockTolerated) return {Health::good, "the clock agrees"};
  return {Health::odd, "the store's time differs from the clock by " + format_duration(ahead) +
                           ": stop all workers once, and it is set anew"};
}

Result<std::vector<Finding>> check_workers(Context& context, queue::Queues& queues) {
  std::vector<Finding> findings;
  SLUICE_LET(workers, live_workers(context));
  std::uint64_t alive = 0;
  for (const worker::LiveWorker& one : workers) {
    alive += one.alive ? 1 : 0;
    if (!one.alive)
      findings.push_back({Health::odd, "worker " + short_worker(one.worker.name) +
                                           " died: the next worker takes over its jobs"});
  }
  std::uint64_t pending = 0;
  SLUICE_LET(all, queues.list_queues());
  for (const queue::Queue& queue : all) {
    SLUICE_LET(counts, queues.count(queue.name));
    pending += counts.ready;
    if (queue.paused && counts.ready > 0)
      findings.push_back({Health::odd, "the queue " + visible(queue.name) + " is paused with " +
                                           format_count(counts.ready) + " jobs in it"});
    if (counts.dead > 0)
      findings.push_back({Health::odd, format_count(counts.dead) + " dead jobs in " +
                                           visible(queue.name) + ": see queuectl dlq list"});
  }
  if (alive == 0 && pending > 0)
    findings.push_back({Health::odd, format_count(pending) +
                                         " jobs wait and no worker runs: queuectl worker start"});
  else
    findings.push_back({Health::good, plural(alive, "worker") + " running"});
  return findings;
}

Result<int> doctor(Context& context, const Arguments&) {
  std::vector<Finding> findings;
  const auto config = context.config();
  findings.push_back(config ? Finding{Health::good, "the settings can be read"}
                            : Finding{Health::bad, config.error().message()});
  SLUICE_LET(verdict, verify_in_child(context));
  findings.push_back(verdict.code == kOk
                         ? Finding{Health::good, "the store is sound (queuectl verify)"}
                         : Finding{Health::bad, "the store is damaged: " + verdict.text});
  if (verdict.code == kOk) {
    SLUICE_LET(queues, context.queues());
    findings.push_back(check_space(queues->store().stats()));
    findings.push_back(check_clock(context, queues->store()));
    SLUICE_LET(others, check_workers(context, *queues));
    findings.insert(findings.end(), others.begin(), others.end());
  }
  findings.push_back(check_disk(context.dir()));
  codec::json::Writer writer;
  writer.array();
  std::string text;
  int code = kOk;
  for (const Finding& one : findings) {
    if (one.health == Health::bad) code = kFailed;
    const char* word = one.health == Health::good  ? "ok"
                       : one.health == Health::odd ? "note"
                                                   : "BAD";
    const Style style = one.health == Health::good  ? Style::green
                        : one.health == Health::odd ? Style::yellow
                                                    : Style::red;
    writer.object().name("health").string(word).name("what").string(one.what).end_object();
    text += paint(word, style, look_of(context.out())) +
            std::string(6 - std::string_view(word).size(), ' ') + visible(one.what) + "\n";
  }
  writer.end_array();
  context.print(context.json() ? writer.take() + "\n" : text);
  return code;
}

}  // namespace

std::vector<Command> health_commands() {
  return {
      {.name = "verify",
       .alias = "",
       .arguments = "",
       .summary = "read the whole store and prove that it is sound",
       .details = "Reads a snapshot beside whatever goes on. Exit code 5 if something is wrong.",
       .options = {{"--here", 0, "", "in this process, not in one of its own", Takes::nothing}},
       .takes = Takes::nothing,
       .run = verify},
      {.name = "doctor",
       .alias = "",
       .arguments = "",
       .summary = "look for what is wrong, and say what to do",
       .details = "Exit code 1 if something is bad.",
       .options = {},
       .takes = Takes::nothing,
       .run = doctor},
  };
}

}  // namespace sluice::cli
