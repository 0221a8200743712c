// SPDX-License-Identifier: MIT
// What other jobs, batches and keys have to do with a job not running.
#include "queue/explain_flows.h"

#include <fmt/format.h>

#include "queue/after.h"
#include "queue/batch.h"
#include "queue/look.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

/// The jobs it waits for that are described one by one.
constexpr std::size_t kDescribed = 5;
constexpr std::size_t kCounted = 1'000;

const char* policy_text(AfterPolicy policy) {
  switch (policy) {
    case AfterPolicy::success:
      return "wait for its success";
    case AfterPolicy::end:
      return "run anyway";
    case AfterPolicy::cancel:
      return "be cancelled with it";
  }
  return "";
}

/// What became of the job that is waited for, as far as it matters.
std::string state_text(const JobRecord& record, AfterPolicy policy) {
  const Lane lane = record.lane;
  if (lane < Lane::done) return fmt::format(", which is {}", lane_name(lane));
  const std::string since =
      fmt::format(", which is {} since {}", lane_name(lane), time_text(record.finished_at()));
  if (lane == Lane::done) return since + ": a claim or sweep lets it go on";
  return fmt::format("{}; policy: {}{}", since, policy_text(policy),
                     policy == AfterPolicy::success ? ": requeue or remove that job" : "");
}

}  // namespace

Status explain_waiting(kv::Reader& reader, const FoundJob& job, const Keys& keys,
                       std::vector<std::string>& reasons) {
  SLUICE_LET(entries, reader.scan(keys.afters(job.number), {.limit = kCounted + 1}));
  for (std::size_t i = 0; i < entries.size() && i < kDescribed; ++i) {
    SLUICE_LET(tie, decode_tie(entries[i].value));
    const bool elsewhere = tie.queue != job.queue.name;
    std::string text = fmt::format("it waits for job \"{}\"", tie.id);
    if (elsewhere) text += fmt::format(" of queue \"{}\"", tie.queue);
    auto other = find_by_id(reader, {.queue = tie.queue, .id = tie.id});
    if (!other && other.error().code() != Code::not_found) return other.error();
    text += other ? state_text(other->stored.record, tie.policy)
                  : ", which is gone: a claim or sweep settles that";
    reasons.push_back(std::move(text));
  }
  if (entries.size() > kCounted)
    reasons.push_back(fmt::format("it waits for more than {} others", kCounted - kDescribed));
  else if (entries.size() > kDescribed)
    reasons.push_back(fmt::format("it waits for {} others", entries.size() - kDescribed));
  return {};
}

Status explain_batch(kv::Reader& reader, const FoundJob& job, const Keys& keys,
                     std::vector<std::string>& reasons) {
  const std::string& id = job.stored.record.batch;
  if (id.empty()) return {};
  SLUICE_LET(value, reader.get(keys.batch(id)));
  if (!value) return {};
  SLUICE_LET(batch, decode_batch(*value));
  if (batch.cancelled && batch.ended == 0)
    reasons.push_back(
        fmt::format("its batch \"{}\" was cancelled: a claim or sweep cancels it too", id));
  return {};
}

}  // namespace sluice::queue
