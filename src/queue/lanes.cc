// SPDX-License-Identifier: MIT
#include "queue/lanes.h"

#include <fmt/format.h>

#include "base/check.h"
#include "queue/after.h"
#include "queue/batch.h"
#include "queue/events.h"
#include "queue/group.h"
#include "queue/slots.h"
#include "queue/unique.h"

namespace sluice::queue {
namespace {

bool before_lease(Lane lane) {
  return lane <= Lane::ready;
}

bool rests(Lane lane) {
  return lane == Lane::waiting || lane == Lane::held || lane >= Lane::done;
}

std::string number_value(const JobState& job) {
  return job.place == job.number ? std::string() : std::string(job.number.view());
}

/// The lane that the record names has one job more or less.
Status count(Steps& steps, QueueState& queue, const JobRecord& record, std::int64_t delta) {
  queue.deltas[static_cast<std::size_t>(record.lane)] += delta;
  if (record.group.empty()) return {};
  SLUICE_LET(group, steps.get_group(queue, record.group));
  count_group(*group, record.lane, delta);
  return {};
}

Status leave_ready(Steps& steps, JobState& job) {
  QueueState& queue = *job.queue;
  const JobRecord& record = job.record;
  if (!queue.grouped(record)) {
    steps.txn().erase(queue.keys.offer(record.shard, record.priority, job.place));
    return {};
  }
  SLUICE_LET(group, steps.get_group(queue, record.group));
  SLUICE_TRY(know_first(steps, queue, *group));
  steps.txn().erase(queue.keys.group_job(group->hash, record.priority, job.place));
  return leave_spot(steps, queue, *group, {.order = record.priority, .place = job.place});
}

Status enter_ready_at(Steps& steps, JobState& job) {
  QueueState& queue = *job.queue;
  const JobRecord& record = job.record;
  if (!queue.grouped(record)) {
    steps.txn().put(queue.keys.offer(record.shard, record.priority, job.place), number_value(job));
    return {};
  }
  SLUICE_LET(group, steps.get_group(queue, record.group));
  SLUICE_TRY(join_at(steps, queue, *group,
                     {.spot = {.order = record.priority, .place = job.place}, .job = job.number}));
  steps.txn().put(queue.keys.group_job(group->hash, record.priority, job.place), number_value(job));
  return {};
}

/// `value` names the job; empty if the job is new and so has the number of its place.
Status enter_ready_fresh(Steps& steps, QueueState& queue, const JobRecord& record,
                         std::uint32_t ordinal, std::string_view value) {
  if (!queue.grouped(record)) {
    const auto key = queue.keys.new_offer(record.shard, record.priority);
    steps.txn().put_stamped_key(key.prefix, ordinal, key.suffix, value);
    return {};
  }
  SLUICE_LET(group, steps.get_group(queue, record.group));
  SLUICE_TRY(join_fresh(steps, queue, *group, {.priority = record.priority, .ordinal = ordinal}));
  const auto key = queue.keys.new_group_job(group->hash, record.priority);
  steps.txn().put_stamped_key(key.prefix, ordinal, key.suffix, value);
  return {};
}

/// What of the record belongs to the lane only.
void forget_lane(JobRecord& record) {
  record.deadline = 0;
  record.claimed = 0;
  record.since = 0;
}

Duration retention_of(const QueueConfig& config, Lane lane) {
  return lane == Lane::dead ? config.dead_retention : config.done_retention;
}

/// Since when a finished job that others waited for is said to be in its lane: so late that the
/// queue's retention, counted from there, is over in kParentKept.
Millis keep_until(const QueueConfig& config, Lane lane, Millis now) {
  return now + to_millis(kParentKept) - to_millis(retention_of(config, lane));
}

}  // namespace

Status leave(Steps& steps, JobState& job) {
  QueueState& queue = *job.queue;
  const JobRecord& record = job.record;
  const Lane lane = record.lane;
  job.left = lane;
  if (lane == Lane::ready) SLUICE_TRY(leave_ready(steps, job));
  if (lane == Lane::scheduled)
    steps.txn().erase(queue.keys.timed(Space::scheduled, record.shard, record.due, job.number));
  if (lane == Lane::leased) {
    steps.txn().erase(queue.keys.timed(Space::leased, record.shard, record.deadline, job.number));
    SLUICE_TRY(give_slot_back(steps, job));
  }
  if (rests(lane)) steps.txn().erase(queue.keys.rest(lane, record.since, job.number));
  if (record.expires > 0 && before_lease(lane))
    steps.txn().erase(queue.keys.timed(Space::expiry, record.shard, record.expires, job.number));
  return count(steps, queue, record, -1);
}

Status enter(Steps& steps, JobState& job, Lane lane, Place place) {
  QueueState& queue = *job.queue;
  JobRecord& record = job.record;
  SLUICE_TRY(move_unique(steps, job, lane));
  note_move(queue, record, job.left, lane);
  const Millis deadline = record.deadline;
  const Millis claimed = record.claimed;
  forget_lane(record);
  record.lane = lane;
  if (lane == Lane::leased) {
    record.deadline = deadline;
    record.claimed = claimed;
    steps.txn().put(queue.keys.timed(Space::leased, record.shard, deadline, job.number), "");
  }
  if (lane == Lane::scheduled)
    steps.txn().put(queue.keys.timed(Space::scheduled, record.shard, record.due, job.number), "");
  if (rests(lane)) {
    const bool longer = record.finished > 0 && lane >= Lane::done;
    record.since = longer ? keep_until(queue.config(), lane, steps.now()) : steps.now();
    steps.txn().put(queue.keys.rest(lane, record.since, job.number), "");
  }
  if (record.expires > 0 && before_lease(lane))
    steps.txn().put(queue.keys.timed(Space::expiry, record.shard, record.expires, job.number), "");
  SLUICE_TRY(count(steps, queue, record, 1));
  if (lane == Lane::ready || lane == Lane::scheduled) queue.ring = true;
  if (lane == Lane::ready && place == Place::fresh) {
    steps.place_later(job);
    return {};
  }
  if (lane == Lane::ready) SLUICE_TRY(enter_ready_at(steps, job));
  rewrite(steps, job);
  return {};
}

void rewrite(Steps& steps, const JobState& job) {
  std::string value = encode(job.record);
  value += job.place.view();
  steps.txn().put(job.queue->keys.job(job.number), value);
}

Status place_now(Steps& steps, JobState& job) {
  QueueState& queue = *job.queue;
  const std::uint32_t ordinal = steps.txn().take_ordinal();
  steps.txn().put_stamped_value(queue.keys.job(job.number), encode(job.record), ordinal);
  return enter_ready_fresh(steps, queue, job.record, ordinal, job.number.view());
}

Status place_now(Steps& steps, NewJobState& job) {
  kv::Transaction& txn = steps.txn();
  QueueState& queue = *job.queue;
  JobRecord& record = job.record;
  const std::string_view payload = job.payload;
  const std::uint32_t ordinal = txn.take_ordinal();
  steps.set_ordinal(job, ordinal);
  const auto put_stamped = [&](const codec::StampedTuple& key, std::string_view value) {
    txn.put_stamped_key(key.prefix, ordinal, key.suffix, value);
  };
  record.lane = job.lane;
  if (payload.size() <= kInlineBytesMax) {
    record.payload = payload;
  } else {
    record.chunked_bytes = payload.size();
    for (std::size_t n = 0; n < record.chunk_count(); ++n)
      put_stamped(queue.keys.new_payload(n),
                  encode_chunk(payload.substr(n * kChunkBytesMax, kChunkBytesMax)));
  }
  if (rests(job.lane)) {
    record.since = steps.now();
    put_stamped(queue.keys.new_rest(job.lane, record.since), "");
  }
  if (job.lane == Lane::scheduled)
    put_stamped(queue.keys.new_timed(Space::scheduled, record.shard, record.due), "");
  if (record.expires > 0)
    put_stamped(queue.keys.new_timed(Space::expiry, record.shard, record.expires), "");
  if (job.lane == Lane::ready) SLUICE_TRY(enter_ready_fresh(steps, queue, record, ordinal, ""));
  if (!rests(job.lane)) queue.ring = true;
  put_new_key(steps, job, ordinal);
  put_ties(steps, job, ordinal);
  if (!record.batch.empty()) put_stamped(queue.keys.new_member(record.batch), "");
  note_move(queue, record, std::nullopt, job.lane);
  std::string value = encode(record);
  value += Bytes16{}.view();
  --queue.accepted;
  put_stamped(queue.keys.new_job(), value);
  txn.put_stamped_value(queue.keys.id(record.id), "", ordinal);
  return count(steps, queue, record, 1);
}

void erase_job(Steps& steps, JobState& job) {
  const Keys& keys = job.queue->keys;
  steps.txn().erase(keys.job(job.number));
  steps.txn().erase(keys.id(job.record.id));
  for (std::size_t n = 0; n < job.record.chunk_count(); ++n)
    steps.txn().erase(keys.payload(job.number, n));
  if (job.record.history > 0) steps.txn().erase_range(keys.attempts(job.number));
}

Status finish(Steps& steps, JobState& job, Lane lane) {
  SLUICE_CHECK(lane >= Lane::done);
  const Duration retention = retention_of(job.queue->config(), lane);
  JobRecord& record = job.record;
  SLUICE_TRY(stop_waiting(steps, job));
  end_member(steps, job, lane);
  if (record.waited_for) {
    steps.release_later({.queue = job.queue,
                         .number = job.number,
                         .id = record.id,
                         .ending = lane == Lane::done ? Ending::done : Ending::failed,
                         .at = steps.now()});
    if (retention < kParentKept) record.finished = steps.now();
  }
  if (retention > Duration{} || record.finished > 0) return enter(steps, job, lane);
  note_move(*job.queue, record, job.left, lane);
  SLUICE_TRY(move_unique(steps, job, std::nullopt));
  erase_job(steps, job);
  return {};
}

Status remove_finished(Steps& steps, JobState& job) {
  if (job.record.waited_for && job.record.lane != Lane::done)
    steps.release_later({.queue = job.queue,
                         .number = job.number,
                         .id = job.record.id,
                         .ending = Ending::lost,
                         .at = steps.now()});
  SLUICE_TRY(leave(steps, job));
  SLUICE_TRY(move_unique(steps, job, std::nullopt));
  erase_job(steps, job);
  return {};
}

Result<std::string> read_payload(kv::Reader& reader, const Keys& keys, const Bytes16& number,
                                 const JobRecord& record) {
  if (record.chunked_bytes == 0) return record.payload;
  std::string payload;
  payload.reserve(record.chunked_bytes);
  for (std::size_t n = 0; n < record.chunk_count(); ++n) {
    SLUICE_LET(value, reader.get(keys.payload(number, n)));
    if (!value) return error(Code::corrupt, "a part of the payload is missing");
    SLUICE_LET(chunk, decode_chunk(*value));
    payload += chunk;
  }
  if (payload.size() != record.chunked_bytes)
    return error(Code::corrupt, "the payload has another length than its job says");
  return payload;
}

void replace_payload(Steps& steps, JobState& job, std::string_view payload) {
  JobRecord& record = job.record;
  const Keys& keys = job.queue->keys;
  const std::size_t chunks_before = record.chunk_count();
  record.payload.clear();
  record.chunked_bytes = 0;
  if (payload.size() <= kInlineBytesMax) {
    record.payload = payload;
  } else {
    record.chunked_bytes = payload.size();
    for (std::size_t n = 0; n < record.chunk_count(); ++n)
      steps.txn().put(keys.payload(job.number, n),
                      encode_chunk(payload.substr(n * kChunkBytesMax, kChunkBytesMax)));
  }
  for (std::size_t n = record.chunk_count(); n < chunks_before; ++n)
    steps.txn().erase(keys.payload(job.number, n));
}

Status add_attempt(Steps& steps, JobState& job, Outcome outcome, std::string_view error) {
  const Keys& keys = job.queue->keys;
  JobRecord& record = job.record;
  if (record.history >= kHistoryMax) {
    SLUICE_LET(oldest, steps.txn().scan(keys.attempts(job.number), {.limit = 1}));
    if (!oldest.empty()) steps.txn().erase(oldest[0].key);
  } else {
    ++record.history;
  }
  steps.txn().put(keys.attempt(job.number, record.claims),
                  encode(Attempt{.number = record.attempts,
                                 .started = to_wall(record.claimed),
                                 .ended = to_wall(steps.now()),
                                 .worker = record.worker,
                                 .outcome = outcome,
                                 .error = std::string(error)}));
  return {};
}

}  // namespace sluice::queue
