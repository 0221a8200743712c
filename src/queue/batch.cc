// SPDX-License-Identifier: MIT
#include "queue/batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/names.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

constexpr BatchCount kAllCounts[] = {BatchCount::total, BatchCount::done, BatchCount::dead,
                                     BatchCount::dropped};

BatchCount count_of(Lane lane) {
  return lane == Lane::done   ? BatchCount::done
         : lane == Lane::dead ? BatchCount::dead
                              : BatchCount::dropped;
}

std::int64_t& delta_of(BatchState& batch, BatchCount count) {
  return batch.deltas[static_cast<std::size_t>(count)];
}

struct Tally {
  std::int64_t pending = 0;
  std::int64_t failed = 0;
};

/// The counts with this transaction's own changes.
Result<Tally> tally(Steps& steps, const QueueState& queue, std::string_view id, BatchState& batch,
                    kv::Isolation isolation) {
  Tally tally;
  for (const BatchCount count : kAllCounts) {
    SLUICE_LET(value, steps.txn().get(queue.keys.batch_count(id, count), isolation));
    SLUICE_LET(stored, kv::decode_counter(value));
    const std::int64_t now = stored + delta_of(batch, count);
    tally.pending += count == BatchCount::total ? now : -now;
    if (count == BatchCount::dead || count == BatchCount::dropped) tally.failed += now;
  }
  return tally;
}

/// The callback's id; if it is refused, the batch says why.
Result<std::string> call_back(Steps& steps, BatchRecord& record, const NewJob& job) {
  auto accepted = accept(steps, job, {.uncapped = true});
  if (accepted) {
    std::string id = accepted->record.id;
    SLUICE_TRY(admit(steps, std::move(*accepted)));
    return id;
  }
  if (!is_refusal(accepted.error())) return Failure{accepted.error()};
  record.error = accepted.error().message();
  return std::string();
}

Status end_batch(Steps& steps, QueueState& queue, BatchRecord& record, bool success) {
  record.ended = steps.now();
  if (success && record.on_success) {
    SLUICE_LET(id, call_back(steps, record, *record.on_success));
    record.success_id = id;
  }
  if (record.on_end) {
    SLUICE_LET(id, call_back(steps, record, *record.on_end));
    record.end_id = id;
  }
  const Duration kept = std::max(queue.config().done_retention, kBatchKept);
  steps.txn().put(queue.keys.agenda(steps.now() + to_millis(kept), Errand::forget, record.id), "");
  return {};
}

/// Ends the batch, which is sealed, if nothing of it is pending.
Status look_closely(Steps& steps, QueueState& queue, std::string_view id, BatchState& batch) {
  // Members add to the counts blindly, so most looks are by a snapshot, and cost nobody a conflict.
  // Whoever seals must be exact: members that finish before leave no check.
  if (!batch.changed) {
    SLUICE_LET(roughly, tally(steps, queue, id, batch, kv::Isolation::snapshot));
    if (roughly.pending > 0) return {};
  }
  SLUICE_LET(exactly, tally(steps, queue, id, batch, kv::Isolation::conflicting));
  if (exactly.pending > 0) return {};
  batch.changed = true;
  const bool success = exactly.failed == 0 && !batch.record.cancelled;
  return end_batch(steps, queue, batch.record, success);
}

Status settle_batch(Steps& steps, QueueState& queue, const std::string& id, BatchState& batch) {
  const bool counted = std::ranges::any_of(batch.deltas, [](auto delta) { return delta != 0; });
  if (batch.record.ended == 0 && batch.record.sealed && (counted || batch.look)) {
    SLUICE_TRY(look_closely(steps, queue, id, batch));
    // Somebody else's last member may finish at this moment, and not see this one's end.
    if (batch.record.ended == 0 && counted)
      steps.txn().put(queue.keys.agenda((steps.now() / 1000 + 1) * 1000, Errand::check, id), "");
  }
  for (const BatchCount count : kAllCounts)
    if (delta_of(batch, count) != 0)
      steps.txn().add(queue.keys.batch_count(id, count), delta_of(batch, count));
  batch.deltas.fill(0);
  if (batch.changed) steps.txn().put(queue.keys.batch(id), encode(batch.record));
  batch.changed = false;
  batch.look = false;
  return {};
}

Status check_callback(const std::optional<NewJob>& job) {
  if (!job) return {};
  SLUICE_TRY(check_new_job(*job));
  if (job->unique || !job->after.empty() || !job->batch.empty() || job->due)
    return error(Code::invalid_argument,
                 "a callback has no unique key, no dependencies, no batch and no due time");
  return check_template(*job);
}

Result<BatchState*> get_batch(Steps& steps, const BatchRef& ref, QueueState** queue) {
  SLUICE_TRY(check_name("batch id", ref.id));
  SLUICE_LET(found, steps.get_queue(ref.queue));
  SLUICE_LET(batch, find_batch(steps, *found, ref.id));
  if (batch == nullptr) return no_such_batch(ref.queue, ref.id);
  *queue = found;
  return batch;
}

}  // namespace

Failure no_such_batch(std::string_view queue, std::string_view id) {
  return error(Code::not_found, fmt::format("queue \"{}\" has no batch \"{}\"", queue, id));
}

Result<BatchState*> find_batch(Steps& steps, QueueState& queue, std::string_view id) {
  if (const auto it = queue.batches.find(id); it != queue.batches.end()) return &it->second;
  SLUICE_LET(value, steps.txn().get(queue.keys.batch(id)));
  if (!value) return nullptr;
  SLUICE_LET(record, decode_batch(*value));
  BatchState& batch = queue.batches[std::string(id)];
  batch.record = std::move(record);
  return &batch;
}

Result<std::string> open_batch(Steps& steps, const NewBatch& request) {
  SLUICE_TRY(check_name_or_empty("batch id", request.id));
  SLUICE_TRY(check_callback(request.on_success));
  SLUICE_TRY(check_callback(request.on_end));
  SLUICE_LET(queue, steps.see_queue(request.queue));
  const std::string id = request.id.empty() ? steps.shared().next_ulid(steps.now()) : request.id;
  SLUICE_LET(there, find_batch(steps, *queue, id));
  if (there != nullptr)
    return error(Code::already_exists,
                 fmt::format("queue \"{}\" has a batch \"{}\" already", request.queue, id));
  if (!queue->exists()) queue->changed = true;
  queue->batches[id] = {.record = {.id = id,
                                   .created = steps.now(),
                                   .on_success = request.on_success,
                                   .on_end = request.on_end},
                        .changed = true};
  return id;
}

Status seal_batch(Steps& steps, const BatchRef& ref) {
  QueueState* queue = nullptr;
  SLUICE_LET(batch, get_batch(steps, ref, &queue));
  if (batch->record.sealed) return {};
  batch->record.sealed = true;
  batch->changed = true;
  batch->look = true;
  return {};
}

Status cancel_batch(Steps& steps, const BatchRef& ref) {
  QueueState* queue = nullptr;
  SLUICE_LET(batch, get_batch(steps, ref, &queue));
  BatchRecord& record = batch->record;
  if (record.ended > 0)
    return error(Code::conflict, fmt::format("the batch \"{}\" has ended", ref.id));
  if (record.cancelled) return {};
  record.sealed = true;
  record.cancelled = true;
  batch->changed = true;
  batch->look = true;
  steps.txn().put(queue->keys.agenda(steps.now(), Errand::drop, ref.id), "");
  queue->ring = true;
  return {};
}

Status check_open(Steps& steps, QueueState& queue, std::string_view id, const JobState* finishing) {
  SLUICE_TRY(check_name("batch id", id));
  SLUICE_LET(batch, find_batch(steps, queue, id));
  if (batch == nullptr) return no_such_batch(queue.record.name, id);
  const BatchRecord& record = batch->record;
  const bool from_member =
      finishing != nullptr && finishing->queue == &queue && finishing->record.batch == id;
  if (record.ended == 0 && !record.cancelled && (!record.sealed || from_member)) return {};
  return error(Code::conflict, fmt::format("the batch \"{}\" {}: it takes no more jobs", id,
                                           record.ended > 0   ? "has ended"
                                           : record.cancelled ? "was cancelled"
                                                              : "is sealed"));
}

Status add_member(Steps& steps, const NewJobState& job) {
  if (job.record.batch.empty()) return {};
  SLUICE_LET(batch, find_batch(steps, *job.queue, job.record.batch));
  if (batch == nullptr) return error(Code::corrupt, "a batch is gone");
  ++delta_of(*batch, BatchCount::total);
  return {};
}

void end_member(Steps& steps, JobState& job, Lane lane) {
  if (job.record.batch.empty()) return;
  steps.txn().erase(job.queue->keys.member(job.record.batch, job.number));
  job.queue->ended_members.emplace_back(job.record.batch, lane);
}

Status return_member(Steps& steps, JobState& job) {
  if (job.record.batch.empty()) return {};
  SLUICE_LET(batch, find_batch(steps, *job.queue, job.record.batch));
  const bool over = batch == nullptr || batch->record.ended > 0 ||
                    batch->record.created > job.record.enqueued;  // Another one of the same id.
  if (over) {
    job.record.batch.clear();  // It is a job like any other from now on.
    return {};
  }
  --delta_of(*batch, count_of(job.record.lane));
  steps.txn().put(job.queue->keys.member(job.record.batch, job.number), "");
  return {};
}

Result<bool> is_dropped(Steps& steps, const JobState& job) {
  if (job.record.batch.empty()) return false;
  SLUICE_LET(batch, find_batch(steps, *job.queue, job.record.batch));
  return batch != nullptr && batch->record.cancelled && batch->record.ended == 0;
}

Status settle_batches(Steps& steps, QueueState& queue) {
  for (const auto& [id, lane] : std::exchange(queue.ended_members, {})) {
    SLUICE_LET(batch, find_batch(steps, queue, id));
    if (batch != nullptr && batch->record.ended == 0) ++delta_of(*batch, count_of(lane));
  }
  for (auto& [id, batch] : queue.batches) SLUICE_TRY(settle_batch(steps, queue, id, batch));
  return {};
}

Result<bool> drop_members(Steps& steps, QueueState& queue, std::string_view id,
                          std::size_t jobs_max, std::size_t& dropped) {
  SLUICE_LET(batch, find_batch(steps, queue, id));
  if (batch == nullptr || batch->record.ended > 0) return true;
  SLUICE_LET(members, steps.txn().scan(queue.keys.members(id), {.limit = jobs_max + 1}));
  const bool all = members.size() <= jobs_max;
  if (!all) members.pop_back();
  bool through = all;
  for (const auto& entry : members) {
    const std::string_view key = entry.key;
    const Bytes16 number = Bytes16::of(key.substr(key.size() - Bytes16::kSize));
    if (steps.placed(number)) {  // This transaction has just made it ready: next time.
      through = false;
      continue;
    }
    SLUICE_LET(job, steps.find_job(queue, number));
    if (!job) return error(Code::corrupt, "a batch has a member that does not exist");
    if (job->record.lane == Lane::leased)
      SLUICE_TRY(add_attempt(steps, *job, Outcome::cancelled, "the batch was cancelled"));
    SLUICE_TRY(leave(steps, *job));
    SLUICE_TRY(finish(steps, *job, Lane::cancelled));
    ++dropped;
  }
  return through;
}

Status forget_batch(Steps& steps, QueueState& queue, std::string_view id) {
  SLUICE_LET(batch, find_batch(steps, queue, id));
  if (batch == nullptr || batch->record.ended == 0) return {};
  steps.txn().erase(queue.keys.batch(id));
  for (const BatchCount count : kAllCounts) steps.txn().erase(queue.keys.batch_count(id, count));
  batch->changed = false;
  return {};
}

Result<Batch> read_batch(kv::Reader& reader, const QueueRecord& queue, const BatchRecord& record) {
  const Keys keys(hash_of(queue.name));
  Batch batch{.queue = queue.name,
              .id = record.id,
              .created = to_wall(record.created),
              .sealed = record.sealed,
              .cancelled = record.cancelled,
              .success_id = record.success_id,
              .end_id = record.end_id,
              .error = record.error};
  if (record.ended > 0) batch.ended = to_wall(record.ended);
  SLUICE_LET(total, read_count(reader, keys.batch_count(record.id, BatchCount::total)));
  SLUICE_LET(done, read_count(reader, keys.batch_count(record.id, BatchCount::done)));
  SLUICE_LET(dead, read_count(reader, keys.batch_count(record.id, BatchCount::dead)));
  SLUICE_LET(dropped, read_count(reader, keys.batch_count(record.id, BatchCount::dropped)));
  batch.total = total;
  batch.done = done;
  batch.dead = dead;
  batch.dropped = dropped;
  return batch;
}

}  // namespace sluice::queue
