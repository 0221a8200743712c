// SPDX-License-Identifier: MIT
// I3 to I5: every job has the entries that its record asks for.
#include <fmt/format.h>

#include "queue/group.h"
#include "queue/names.h"
#include "queue/verify/check.h"

namespace sluice::queue {

Status Verifier::check_jobs() {
  return each(Space::job, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::job));
    Bytes16 hash;
    QueueCheck* queue = queue_of(reader, key, &hash);
    if (queue == nullptr) return {};
    SLUICE_LET(mark, reader.mark());
    const Bytes16 number = Bytes16::of(mark);
    SLUICE_LET(stored, decode_stored_job(value, number));
    ++report_.jobs;
    return check_job(Keys(hash), *queue, number, stored);
  });
}

Status Verifier::check_job(const Keys& keys, QueueCheck& queue, const Bytes16& number,
                           const StoredJob& stored) {
  const JobRecord& record = stored.record;
  const auto lane = static_cast<std::size_t>(record.lane);
  ++queue.jobs[lane];
  // In a fair queue the ready jobs without a group are one.
  const bool nameless = queue.record.config.fair && record.lane == Lane::ready;
  if (nameless || !record.group.empty()) {
    const auto group = queue.groups.find(hash_of(record.group));
    if (group == queue.groups.end()) {
      breach("I7", keys.job(number),
             fmt::format("job \"{}\" is in the group \"{}\", which does not exist", record.id,
                         record.group));
    } else {
      GroupCheck& check = group->second;
      ++check.jobs[lane];
      const Spot spot{.order = record.priority, .place = stored.place};
      if (record.lane == Lane::ready && (!check.first || spot < *check.first)) check.first = spot;
    }
  }
  SLUICE_LET(id_value, reader_.get(keys.id(record.id)));
  if (!id_value || *id_value != number.view())
    breach("I3", keys.job(number),
           fmt::format("the id \"{}\" does not lead to its job", record.id));
  check_record(keys, queue, number, record);
  SLUICE_TRY(check_lane(keys, queue, number, stored));
  SLUICE_TRY(check_job_flows(keys, queue, number, record));
  return check_parts(keys, number, record);
}

Status Verifier::check_lane(const Keys& keys, const QueueCheck& queue, const Bytes16& number,
                            const StoredJob& stored) {
  const JobRecord& record = stored.record;
  std::string entry;
  switch (record.lane) {
    case Lane::ready:
      entry = queue.record.config.fair || !record.group.empty()
                  ? keys.group_job(hash_of(record.group), record.priority, stored.place)
                  : keys.offer(record.shard, record.priority, stored.place);
      break;
    case Lane::scheduled:
      entry = keys.timed(Space::scheduled, record.shard, record.due, number);
      break;
    case Lane::leased:
      entry = keys.timed(Space::leased, record.shard, record.deadline, number);
      break;
    default:
      entry = keys.rest(record.lane, record.since, number);
  }
  SLUICE_LET(found, there(entry));
  if (!found)
    breach(
        "I4", keys.job(number),
        fmt::format("job \"{}\" is {} and has no entry there", record.id, lane_name(record.lane)));
  if (record.expires == 0 || record.lane > Lane::ready) return {};
  SLUICE_LET(expires, there(keys.timed(Space::expiry, record.shard, record.expires, number)));
  if (!expires)
    breach("I4", keys.job(number),
           fmt::format("job \"{}\" has a time to live and no entry for it", record.id));
  return {};
}

Status Verifier::check_parts(const Keys& keys, const Bytes16& number, const JobRecord& record) {
  std::size_t bytes = 0;
  for (std::size_t n = 0; n < record.chunk_count(); ++n) {
    SLUICE_LET(value, reader_.get(keys.payload(number, n)));
    const auto chunk = value ? decode_chunk(*value) : Result<std::string>(std::string());
    bytes += chunk ? chunk->size() : 0;
  }
  if (bytes != record.chunked_bytes)
    breach("I5", keys.job(number),
           fmt::format("{} of the {} payload bytes of job \"{}\" are there", bytes,
                       record.chunked_bytes, record.id));
  SLUICE_LET(attempts, reader_.scan(keys.attempts(number), {.limit = kHistoryMax + 1}));
  if (attempts.size() != record.history)
    breach("I5", keys.job(number),
           fmt::format("job \"{}\" has {} attempts in its history and says {}", record.id,
                       attempts.size(), record.history));
  return {};
}

void Verifier::check_record(const Keys& keys, const QueueCheck& queue, const Bytes16& number,
                            const JobRecord& record) {
  const auto wrong = [&](std::string_view what) {
    breach("I5", keys.job(number), fmt::format("job \"{}\": {}", record.id, what));
  };
  const QueueConfig& config = queue.record.config;
  const bool leased = record.lane == Lane::leased;
  if (record.attempts > record.claims) wrong("more attempts than claims");
  if (record.lapses > record.claims) wrong("more lapses than claims");
  if (leased != (record.deadline > 0)) wrong("a deadline belongs to a leased job, and only to it");
  if (leased && record.claims == 0) wrong("leased without a claim");
  if (record.lane == Lane::scheduled && record.due == 0) wrong("scheduled without a due time");
  if ((record.lane == Lane::dead) != (record.reason != DeathReason::none))
    wrong("a reason belongs to a dead job, and only to it");
  if (record.history > kHistoryMax) wrong("its history is too long");
  if (!record.payload.empty() && record.chunked_bytes > 0) wrong("it has two payloads");
  if (record.lane < Lane::done && record.shard != shard_for(config, record.group, record.id))
    wrong("it is in another shard than its name says");
}

}  // namespace sluice::queue
