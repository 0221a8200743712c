// SPDX-License-Identifier: MIT
// Queues::explain: why is this job not running?
#include <fmt/format.h>

#include <sluice/token_bucket.h>
#include "queue/explain_flows.h"
#include "queue/look.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

using Reasons = std::vector<std::string>;

std::string seconds_text(Millis ms) {
  return fmt::format("{}.{:03} s", ms / 1000, ms % 1000);
}

std::string failed_text(const JobRecord& record) {
  return record.error.empty() ? "" : fmt::format(" (last error: {})", record.error);
}

Status explain_group(kv::Reader& reader, const FoundJob& job, const Keys& keys, Reasons& reasons) {
  const JobRecord& record = job.stored.record;
  if (record.group.empty()) return {};
  const Bytes16 hash = hash_of(record.group);
  SLUICE_LET(value, reader.get(keys.group(hash)));
  if (!value) return error(Code::corrupt, "the job's group does not exist");
  SLUICE_LET(group, decode_group(*value));
  const auto limit = group.limit ? group.limit : job.queue.config.group_max;
  if (!limit) return {};
  SLUICE_LET(active, read_count(reader, keys.group_count(hash, Lane::leased)));
  if (active < *limit) return {};
  reasons.push_back(fmt::format("group \"{}\" runs {} of the {} jobs its limit allows",
                                record.group, active, *limit));
  return {};
}

Status explain_limits(kv::Reader& reader, const FoundJob& job, const Keys& keys, Millis now,
                      Reasons& reasons) {
  const QueueConfig& config = job.queue.config;
  if (config.active_max) {
    SLUICE_LET(active, read_count(reader, keys.count(Lane::leased)));
    if (active >= *config.active_max)
      reasons.push_back(fmt::format("the queue runs {} of the {} jobs its limit allows", active,
                                    *config.active_max));
  }
  if (config.rate) {
    SLUICE_LET(value, reader.get(keys.bucket()));
    if (value) {
      SLUICE_LET(state, decode_bucket(*value));
      const auto take = sluice::take(
          {.tokens = config.rate->jobs, .per = config.rate->per, .burst = config.rate->burst},
          state, std::chrono::milliseconds(now), 1);
      if (!take.taken)
        reasons.push_back(fmt::format("the queue's rate lets the next job through at {}",
                                      time_text(to_millis(take.ready_at))));
    }
  }
  return {};
}

Status explain_ready(kv::Reader& reader, const FoundJob& job, const Keys& keys, Millis now,
                     Reasons& reasons) {
  const JobRecord& record = job.stored.record;
  if (job.queue.paused) reasons.push_back("the queue is paused: resume it");
  if (record.expires > 0 && record.expires <= now)
    reasons.push_back(fmt::format("its time to live ended at {}", time_text(record.expires)));
  SLUICE_TRY(explain_group(reader, job, keys, reasons));
  SLUICE_TRY(explain_limits(reader, job, keys, now, reasons));
  if (reasons.empty())
    reasons.push_back(
        "nothing holds it back: a claim on this queue gets it, or a job that comes "
        "before it");
  return {};
}

std::string finished_text(const JobRecord& record) {
  const std::string at = time_text(record.finished_at());
  if (record.lane == Lane::done) return "it is done since " + at;
  if (record.lane == Lane::cancelled) return "it was cancelled at " + at;
  switch (record.reason) {
    case DeathReason::attempts:
      return fmt::format("it is dead since {}: attempt {} was its last{}", at, record.attempts,
                         failed_text(record));
    case DeathReason::poison:
      return fmt::format(
          "it is dead since {}: its lease lapsed {} times, so it may take its "
          "workers down",
          at, record.lapses);
    case DeathReason::expired:
      return fmt::format("it is dead since {}: nobody claimed it before {}", at,
                         time_text(record.expires));
    case DeathReason::refused:
      return fmt::format("it is dead since {}: a worker gave it up for good{}", at,
                         failed_text(record));
    case DeathReason::orphaned:
      return fmt::format(
          "it is dead since {}: a job that it waited for was removed without having "
          "succeeded",
          at);
    case DeathReason::none:
      break;
  }
  return "it is dead since " + at;
}

Status explain_job(kv::Reader& reader, const FoundJob& job, const Keys& keys, Millis now,
                   Reasons& reasons) {
  const JobRecord& record = job.stored.record;
  if (record.lane < Lane::done) SLUICE_TRY(explain_batch(reader, job, keys, reasons));
  switch (record.lane) {
    case Lane::waiting:
      return explain_waiting(reader, job, keys, reasons);
    case Lane::held:
      reasons.push_back(fmt::format("it is held since {}: unhold it", time_text(record.since)));
      return explain_waiting(reader, job, keys, reasons);
    case Lane::scheduled:
      if (record.due > now)
        reasons.push_back(fmt::format("it is due at {}, in {}{}", time_text(record.due),
                                      seconds_text(record.due - now), failed_text(record)));
      else
        reasons.push_back("it is due: the next claim or sweep makes it ready");
      if (job.queue.paused) reasons.push_back("the queue is paused: resume it");
      break;
    case Lane::ready:
      return explain_ready(reader, job, keys, now, reasons);
    case Lane::leased:
      reasons.push_back(fmt::format("worker \"{}\" has it until {} (attempt {}){}", record.worker,
                                    time_text(record.deadline), record.attempts,
                                    record.deadline <= now ? ", which is over: the next claim or "
                                                             "sweep takes it back"
                                                           : ""));
      break;
    default:
      reasons.push_back(finished_text(record));
  }
  return {};
}

}  // namespace

Result<Explanation> Queues::explain(const JobRef& ref) {
  Explanation explanation;
  const Millis now = to_millis(store_.now());
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    explanation = {};
    SLUICE_LET(found, find_by_id(reader, ref));
    explanation.job = to_job(found.queue, found.number, found.stored.record);
    return explain_job(reader, found, Keys(hash_of(ref.queue)), now, explanation.reasons);
  }));
  return explanation;
}

}  // namespace sluice::queue
