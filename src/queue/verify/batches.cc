// SPDX-License-Identifier: MIT
// I12 to I14: batches, schedules, events; and the agenda that they share.
#include <fmt/format.h>

#include <algorithm>

#include "queue/agenda.h"
#include "queue/cron.h"
#include "queue/events.h"
#include "queue/unique.h"
#include "queue/verify/check.h"

namespace sluice::queue {

Status Verifier::load_batches() {
  return each(Space::batch, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::batch));
    QueueCheck* queue = queue_of(reader, key);
    if (queue == nullptr) return {};
    SLUICE_LET(id, reader.string());
    SLUICE_TRY(reader.finish());
    SLUICE_LET(record, decode_batch(value));
    if (record.id != id) breach("I12", key, "a batch has another id than its key");
    queue->batches[id].record = std::move(record);
    ++report_.batches;
    return {};
  });
}

/// What the agenda says, so that the others can look it up; and that it makes sense.
Status Verifier::load_agenda() {
  return each(Space::agenda, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::agenda));
    Bytes16 hash;
    QueueCheck* queue = queue_of(reader, key, &hash);
    if (queue == nullptr) return {};
    SLUICE_LET(entry, read_agenda_key(key));
    const std::string& subject = entry.subject;
    switch (entry.errand) {
      case Errand::release: {
        SLUICE_LET(note, decode_note(value));
        if (subject.size() != Bytes16::kSize) return error(Code::corrupt, "a release of no job");
        releases_.emplace(hash, Bytes16::of(subject));
        releases_by_id_[{hash, note.id}] = Bytes16::of(subject);
        return {};
      }
      case Errand::fire: {
        SLUICE_LET(stored, reader_.get(Keys(hash).schedule(subject)));
        const auto schedule = stored ? decode_schedule(*stored) : Result<ScheduleRecord>({});
        if (!stored || (schedule && schedule->next != entry.at))
          breach("I13", key, fmt::format("schedule \"{}\" is not planned for this", subject));
        return {};
      }
      case Errand::drop:
      case Errand::forget: {
        const auto batch = queue->batches.find(subject);
        const bool ended = batch != queue->batches.end() && batch->second.record.ended > 0;
        if (batch == queue->batches.end() || (entry.errand == Errand::forget && !ended))
          breach("I12", key, fmt::format("batch \"{}\" has no use for this", subject));
        else
          (entry.errand == Errand::drop ? batch->second.drop : batch->second.forget) = true;
        return {};
      }
      case Errand::check:
        if (const auto batch = queue->batches.find(subject); batch != queue->batches.end())
          batch->second.check = true;
        return {};
      case Errand::free: {
        SLUICE_LET(stored, reader_.get(Keys(hash).unique(subject)));
        const auto holder = stored ? decode_key_holder(*stored) : Result<KeyHolder>({});
        if (holder && (!stored || !holder->job.zero() || holder->until != entry.at))
          breach("I10", key, fmt::format("the unique key \"{}\" is not to be freed", subject));
        return {};
      }
    }
    return {};
  });
}

Status Verifier::check_batches() {
  SLUICE_TRY(each(Space::batch_count, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::batch_count));
    QueueCheck* queue = queue_of(reader, key);
    if (queue == nullptr) return {};
    SLUICE_LET(id, reader.string());
    SLUICE_LET(number, reader.number<std::uint8_t>());
    SLUICE_TRY(reader.finish());
    SLUICE_LET(count, kv::decode_counter(std::string(value)));
    const auto batch = queue->batches.find(id);
    if (batch == queue->batches.end() || number < 1 || number > kBatchCounts)
      breach("I12", key, "a count of no batch");
    else
      batch->second.counts[number] = count;
    return {};
  }));
  SLUICE_TRY(each(Space::member, [&](std::string_view key, std::string_view) -> Status {
    SLUICE_LET(reader, read_key(key, Space::member));
    Bytes16 hash;
    QueueCheck* queue = queue_of(reader, key, &hash);
    if (queue == nullptr) return {};
    SLUICE_LET(id, reader.string());
    SLUICE_LET(mark, reader.mark());
    SLUICE_TRY(reader.finish());
    const auto batch = queue->batches.find(id);
    if (batch == queue->batches.end()) {
      breach("I12", key, "a member of no batch");
      return {};
    }
    ++batch->second.members;
    SLUICE_LET(job, job_at(Keys(hash), Bytes16::of(mark), key));
    if (job && (job->record.batch != id || job->record.lane >= Lane::done))
      breach("I12", key, fmt::format("job \"{}\" is not an unfinished member", job->record.id));
    return {};
  }));
  for (const auto& [hash, queue] : queues_)
    for (const auto& [id, batch] : queue.batches) check_batch(Keys(hash).batch(id), batch);
  return {};
}

void Verifier::check_batch(const std::string& key, const BatchCheck& batch) {
  const BatchRecord& record = batch.record;
  const auto wrong = [&](std::string_view what) {
    breach("I12", key, fmt::format("batch \"{}\": {}", record.id, what));
  };
  const auto& counts = batch.counts;
  const std::int64_t pending = counts[1] - counts[2] - counts[3] - counts[4];
  const bool negative = std::ranges::any_of(counts, [](std::int64_t count) { return count < 0; });
  if (negative || pending != static_cast<std::int64_t>(batch.members))
    wrong(fmt::format("{} unfinished members, and its counts say {}", batch.members, pending));
  if (record.ended > 0 && pending > 0) wrong("it has ended with unfinished members");
  if (record.ended > 0 && !record.sealed) wrong("it has ended and was never sealed");
  if (record.ended > 0 && !batch.forget) wrong("it has ended and is never forgotten");
  if (record.ended == 0 && record.sealed && pending == 0 && !batch.check)
    wrong("it is through and has not ended");
  if (record.ended == 0 && record.cancelled && pending > 0 && !batch.drop)
    wrong("it was cancelled and its jobs are never");
}

Status Verifier::check_schedules() {
  return each(Space::schedule, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::schedule));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    SLUICE_LET(name, reader.string());
    SLUICE_TRY(reader.finish());
    SLUICE_LET(schedule, decode_schedule(value));
    ++report_.schedules;
    if (schedule.name != name) breach("I13", key, "a schedule has another name than its key");
    if (!Cron::parse(schedule.cron)) breach("I13", key, "a schedule's expression is not one");
    if (schedule.paused == (schedule.next > 0))
      breach("I13", key, fmt::format("schedule \"{}\" is planned exactly while not paused", name));
    if (schedule.next == 0) return {};
    SLUICE_LET(noted, there(Keys(hash).agenda(schedule.next, Errand::fire, name)));
    if (!noted) breach("I13", key, fmt::format("schedule \"{}\" never fires", name));
    return {};
  });
}

Status Verifier::check_events() {
  using Stream = std::pair<Bytes16, std::uint32_t>;
  std::map<Stream, std::int64_t> counted;
  std::map<Stream, Bytes16> first;
  SLUICE_TRY(each(Space::event, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::event));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    SLUICE_LET(shard, reader.number<std::uint32_t>());
    SLUICE_LET(mark, reader.mark());
    SLUICE_TRY(reader.finish());
    first.try_emplace({hash, shard}, Bytes16::of(mark));
    SLUICE_LET(events, decode_events(value));
    counted[{hash, shard}] += static_cast<std::int64_t>(events.moves.size());
    return {};
  }));
  SLUICE_TRY(each(Space::event_count, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::event_count));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    SLUICE_LET(shard, reader.number<std::uint32_t>());
    SLUICE_TRY(reader.finish());
    SLUICE_LET(count, kv::decode_counter(std::string(value)));
    const auto right = counted.extract({hash, shard});
    if (count != (right.empty() ? 0 : right.mapped()))
      breach("I14", key, fmt::format("{} events are counted, and others are there", count));
    return {};
  }));
  for (const auto& [stream, count] : counted)
    breach("I14", Keys(stream.first).event_count(stream.second), "events that nobody counted");
  return each(Space::trimmed, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::trimmed));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    SLUICE_LET(shard, reader.number<std::uint32_t>());
    SLUICE_TRY(reader.finish());
    SLUICE_TRY(decode_note(value));
    SLUICE_LET(trimmed, read_trimmed(reader_, Keys(hash), shard));
    const auto stream = first.find({hash, shard});
    if (stream != first.end() && !(trimmed.place < stream->second))
      breach("I14", key, "events are there that were trimmed");
    return {};
  });
}

}  // namespace sluice::queue
