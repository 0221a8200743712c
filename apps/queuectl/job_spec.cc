// SPDX-License-Identifier: MIT
#include "queuectl/job_spec.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cli/duration.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

constexpr std::int64_t kSlotsMax = worker::kSlotsMax;

Failure refuse(std::string message) {
  return error(Code::invalid_argument, std::move(message));
}

Result<std::vector<std::uint8_t>> parse_codes(std::string_view what, std::string_view text) {
  std::vector<std::uint8_t> codes;
  for (std::size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    SLUICE_LET(code, parse_number(what, text.substr(at, comma - at), 0, 255));
    codes.push_back(static_cast<std::uint8_t>(code));
    at = comma + 1;
  }
  return codes;
}

Result<double> parse_base(std::string_view text) {
  double base = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), base);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  if (whole && (base == 0 || (base >= 1 && base <= 1'000))) return base;
  return refuse("the backoff base is " + in_quotes(text) + ": it must be 0, or from 1 to 1000");
}

std::vector<std::string> split_ids(const std::vector<std::string>& given) {
  std::vector<std::string> ids;
  for (const std::string& list : given)
    for (std::size_t at = 0; at <= list.size();) {
      const auto comma = std::min(list.find(',', at), list.size());
      ids.push_back(list.substr(at, comma - at));
      at = comma + 1;
    }
  return ids;
}

/// A relative folder is meant from here.
Result<std::string> absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::error_code problem;
  const auto here = std::filesystem::current_path(problem);
  if (problem) return refuse("the working directory is gone: give --cwd a path from /");
  return (here / path).lexically_normal().string();
}

queue::RetryPolicy retry_policy(const JobSpec& spec, const JobDefaults& defaults) {
  const double base = spec.backoff_base.value_or(defaults.backoff_base);
  return {.attempts_max = std::max(1U, spec.max_retries.value_or(defaults.max_retries)),
          .base = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(base)),
          .factor = std::max(1.0, base),
          .cap = std::min(defaults.backoff_max, queue::kDelayMax),
          .jitter = defaults.backoff_jitter};
}

std::vector<queue::After> dependencies(const JobSpec& spec) {
  std::vector<queue::After> after;
  for (const std::string& id : spec.after)
    after.push_back({.id = id, .policy = queue::AfterPolicy::cancel});
  for (const std::string& id : spec.after_any)
    after.push_back({.id = id, .policy = queue::AfterPolicy::end});
  return after;
}

}  // namespace

std::vector<Option> job_options() {
  return {
      {"--id", 'i', "ID", "the job's id; default: one is made", Takes::text},
      {"--queue", 'Q', "NAME", "the queue; default: default", Takes::queue},
      {"--priority", 'p', "N", "lower runs first; default 5, high is 0, low is 10", Takes::text},
      {"--delay", 'd', "TIME", "not before this much from now: 30s, 1h30m", Takes::text},
      {"--at", 0, "TIME", "not before this time: 2026-12-24T18:00Z, 18:00, +10m", Takes::text},
      {"--timeout", 't', "TIME", "end a run that takes longer; it counts as failed", Takes::text},
      {"--kill-after", 'k', "TIME", "SIGKILL this long after SIGTERM; default 10s", Takes::text},
      {"--max-retries", 'r', "N", "dead after this many failed runs; 3 means three runs in all",
       Takes::text},
      {"--backoff-base", 'b', "N", "a retry waits N^attempts seconds; 0: not at all", Takes::text},
      {"--ttl", 0, "TIME", "dead if no worker has begun it by then", Takes::text},
      {"--after", 'a', "IDS", "run after these jobs have completed; cancelled if one fails",
       Takes::job, true},
      {"--after-any", 0, "IDS", "run after these jobs are over, however they ended", Takes::job,
       true},
      {"--slots", 's', "N", "slots of a worker that the job takes; default 1", Takes::text},
      {"--env", 'e', "K=V", "a variable for the job", Takes::text, true},
      {"--clean-env", 0, "", "no other variables than those of --env", Takes::nothing},
      {"--cwd", 'C', "DIR", "where the job runs; default: here", Takes::folder},
      {"--label", 'l', "TEXT", "a note for people", Takes::text},
      {"--group", 'g', "NAME", "a group of jobs, to list and to cancel together", Takes::text},
      {"--hold", 0, "", "do not run it before it is unheld", Takes::nothing},
      {"--dedup-key", 0, "KEY", "refused while an unfinished job has the same key", Takes::text},
      {"--retry-on", 0, "CODES", "retry only after these exit codes: 75,111", Takes::text},
      {"--no-retry-on", 0, "CODES", "dead at once after these exit codes", Takes::text},
      {"--on-done", 0, "CMD", "run this, as a job, once the job is completed or dead", Takes::text},
  };
}

Result<JobSpec> spec_of(const Arguments& arguments, WallTime now) {
  JobSpec spec{.id = arguments.text("--id"),
               .queue = arguments.text("--queue"),
               .after = split_ids(arguments.all("--after")),
               .after_any = split_ids(arguments.all("--after-any")),
               .set = arguments.all("--env"),
               .clean_env = arguments.has("--clean-env"),
               .hold = arguments.has("--hold"),
               .label = arguments.text("--label"),
               .group = arguments.text("--group"),
               .dedup_key = arguments.text("--dedup-key"),
               .on_done = arguments.text("--on-done")};
  SLUICE_LET(priority, arguments.number("--priority", INT32_MIN, INT32_MAX));
  if (priority) spec.priority = static_cast<std::int32_t>(*priority);
  SLUICE_LET(retries, arguments.number("--max-retries", 0, queue::kAttemptsMax));
  if (retries) spec.max_retries = static_cast<std::uint32_t>(*retries);
  SLUICE_LET(slots, arguments.number("--slots", 1, kSlotsMax));
  if (slots) spec.slots = static_cast<std::uint32_t>(*slots);
  SLUICE_LET(delay, arguments.duration("--delay"));
  spec.delay = delay;
  SLUICE_LET(at, arguments.time("--at", now));
  spec.at = at;
  SLUICE_LET(timeout, arguments.duration("--timeout"));
  spec.timeout = timeout;
  SLUICE_LET(kill_after, arguments.duration("--kill-after"));
  spec.kill_after = kill_after;
  SLUICE_LET(ttl, arguments.duration("--ttl"));
  spec.ttl = ttl;
  if (const auto text = arguments.text("--backoff-base")) {
    SLUICE_LET(base, parse_base(*text));
    spec.backoff_base = base;
  }
  if (const auto text = arguments.text("--retry-on")) {
    SLUICE_LET(codes, parse_codes("--retry-on", *text));
    spec.retry_on = codes;
  }
  if (const auto text = arguments.text("--no-retry-on")) {
    SLUICE_LET(codes, parse_codes("--no-retry-on", *text));
    spec.no_retry_on = codes;
  }
  if (const auto cwd = arguments.text("--cwd")) {
    SLUICE_LET(path, absolute(*cwd));
    spec.cwd = path;
  }
  if (spec.delay && spec.at) return refuse("--delay and --at exclude each other");
  return spec;
}

Result<JobDefaults> job_defaults(const Config& config) {
  JobDefaults defaults;
  SLUICE_LET(retries, config.number("max-retries"));
  defaults.max_retries = static_cast<std::uint32_t>(retries);
  SLUICE_LET(base, config.real("backoff-base"));
  defaults.backoff_base = base;
  SLUICE_LET(cap, config.duration("backoff-max"));
  defaults.backoff_max = cap;
  SLUICE_LET(jitter, config.real("backoff-jitter"));
  defaults.backoff_jitter = jitter;
  SLUICE_LET(timeout, config.duration("job-timeout"));
  defaults.timeout = timeout;
  SLUICE_LET(kill_after, config.duration("kill-after"));
  defaults.kill_after = kill_after;
  std::error_code problem;
  const auto here = std::filesystem::current_path(problem);
  if (!problem) defaults.cwd = here.string();
  // What tells of the shell itself says nothing to a job, and would make every environment new.
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text(*line);
    if (text.starts_with("_=") || text.starts_with("SHLVL=") || text.starts_with("OLDPWD=") ||
        text.starts_with("PWD=") || text.starts_with("QUEUECTL_"))
      continue;
    defaults.environment.emplace_back(text);
  }
  std::ranges::sort(defaults.environment);
  SLUICE_LET(id, worker::environment_id(defaults.environment));
  defaults.environment_id = id;
  return defaults;
}

Result<queue::NewJob> new_job(const JobSpec& spec, const JobDefaults& defaults) {
  worker::Command command{.text = spec.text,
                          .argv = spec.argv,
                          .cwd = spec.cwd.value_or(defaults.cwd),
                          .environment = spec.clean_env ? "" : defaults.environment_id,
                          .set = spec.set,
                          .timeout = spec.timeout.value_or(defaults.timeout),
                          .kill_after = spec.kill_after.value_or(defaults.kill_after),
                          .slots = spec.slots.value_or(1),
                          .label = spec.label.value_or(""),
                          .retry_on = spec.retry_on,
                          .no_retry_on = spec.no_retry_on,
                          .on_done = spec.on_done.value_or(""),
                          .index = spec.index};
  if (command.text.find_first_not_of(" \t\r\n") == std::string::npos) command.text.clear();
  SLUICE_TRY(worker::check(command));
  if (spec.id && spec.id->empty()) return refuse("the id is empty: leave it out, or give one");
  queue::NewJob job{.queue = spec.queue.value_or("default"),
                    .id = spec.id.value_or(""),
                    .group = spec.group.value_or(""),
                    .payload = worker::encode(command),
                    .priority = spec.priority,
                    .delay = spec.delay.value_or(Duration{}),
                    .due = spec.at,
                    .ttl = spec.ttl.value_or(Duration{}),
                    .retry = retry_policy(spec, defaults),
                    .hold = spec.hold,
                    .after = dependencies(spec)};
  if (spec.dedup_key) job.unique = queue::Unique{.key = *spec.dedup_key};
  return job;
}

Result<ArraySpec> parse_array(std::string_view text) {
  const auto percent = text.find('%');
  const std::string_view range = text.substr(0, percent);
  const auto dash = range.find('-', 1);
  if (dash == std::string_view::npos)
    return refuse("--array is " + in_quotes(text) +
                  ": write FIRST-LAST, as 1-100, or 1-100%4 for 4 "
                  "at once");
  ArraySpec array;
  SLUICE_LET(first, parse_number("the first index", range.substr(0, dash), 0, INT32_MAX));
  SLUICE_LET(last, parse_number("the last index", range.substr(dash + 1), first, INT32_MAX));
  if (last - first >= kArrayMax) return refuse("an array has at most 100,000 jobs");
  array.first = first;
  array.last = last;
  if (percent != std::string_view::npos) {
    SLUICE_LET(at_once, parse_number("the number at once", text.substr(percent + 1), 1, 10'000));
    array.at_once = static_cast<std::uint32_t>(at_once);
  }
  return array;
}

}  // namespace sluice::cli
