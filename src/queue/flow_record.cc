// SPDX-License-Identifier: MIT
// The records of schedules, batches and events, and the jobs that the first two keep for later.
#include <algorithm>

#include "codec/record.h"
#include "codec/tuple.h"
#include "queue/records.h"
#include "queue/retry_wire.h"

namespace sluice::queue {
namespace {

using codec::FieldView;
using codec::RecordFormat;
using codec::RecordReader;
using codec::RecordWriter;

constexpr RecordFormat kTemplate{.type = 11, .major = 1, .minor = 0, .field_max = 11};
constexpr RecordFormat kSchedule{.type = 12, .major = 1, .minor = 0, .field_max = 11};
constexpr RecordFormat kBatch{.type = 13, .major = 1, .minor = 0, .field_max = 10};
constexpr RecordFormat kEvents{.type = 14, .major = 1, .minor = 0, .field_max = 3};
constexpr RecordFormat kNote{.type = 15, .major = 1, .minor = 0, .field_max = 2};
constexpr RecordFormat kTie{.type = 16, .major = 1, .minor = 0, .field_max = 4};

/// Of a move in record 14: how much of the id is as in the one before, its length less one, both
/// lanes, attempts (255: in 4 more bytes). The rest of the id follows.
constexpr std::size_t kMoveHeadBytes = 4;
constexpr std::uint32_t kAttemptsLong = 255;
constexpr std::size_t kSharedMax = 255;
static_assert(kNameBytesMax == 256);

/// Leaves out what is empty or zero.
struct Fields {
  RecordWriter& writer;
  void bytes(unsigned field, std::string_view value) const {
    if (!value.empty()) writer.field(field, value);
  }
  void number(unsigned field, std::uint64_t value) const {
    if (value != 0) writer.field(field, value);
  }
};

std::string encode(const Unique& unique) {
  LaneBits lanes = 0;
  for (const Lane lane : unique.lanes) lanes |= lane_bit(lane);
  return codec::TupleWriter()
      .string(unique.key)
      .number(lanes)
      .number(to_millis(unique.window))
      .number(static_cast<std::uint8_t>(unique.policy))
      .take();
}

Result<Unique> decode_unique(std::string_view bytes) {
  codec::TupleReader reader(bytes);
  SLUICE_LET(key, reader.string());
  SLUICE_LET(lanes, reader.number<LaneBits>());
  SLUICE_LET(window, reader.number<Millis>());
  SLUICE_LET(policy, reader.number<std::uint8_t>());
  SLUICE_TRY(reader.finish());
  if (policy < 1 || policy > 3) return error(Code::corrupt, "a unique key's policy is unknown");
  Unique unique{.key = key,
                .lanes = {},
                .window = to_duration(window),
                .policy = static_cast<UniquePolicy>(policy)};
  for (std::size_t lane = 1; lane <= kLaneCount; ++lane)
    if ((lanes & lane_bit(static_cast<Lane>(lane))) != 0)
      unique.lanes.push_back(static_cast<Lane>(lane));
  return unique;
}

std::string encode_template(const NewJob& job) {
  RecordWriter writer(kTemplate, 128 + job.payload.size());
  const Fields fields{writer};
  fields.bytes(1, job.queue);
  fields.bytes(2, job.id);
  fields.bytes(3, job.group);
  fields.bytes(4, job.payload);
  if (job.priority) writer.field_signed(5, *job.priority);
  fields.bytes(6, job.label);
  fields.number(7, to_millis(job.delay));
  fields.number(8, to_millis(job.ttl));
  if (job.retry) writer.field(9, encode(*job.retry));
  fields.number(10, job.hold ? 1 : 0);
  if (job.unique) writer.field(11, encode(*job.unique));
  return writer.finish();
}

Status read_template_field(NewJob& job, const FieldView& field) {
  switch (field.number) {
    case 1:
      job.queue = field.bytes;
      break;
    case 2:
      job.id = field.bytes;
      break;
    case 3:
      job.group = field.bytes;
      break;
    case 4:
      job.payload = field.bytes;
      break;
    case 6:
      job.label = field.bytes;
      break;
    case 7:
      job.delay = to_duration(field.integer);
      break;
    case 8:
      job.ttl = to_duration(field.integer);
      break;
    case 9: {
      SLUICE_LET(retry, decode_retry(field.bytes));
      job.retry = retry;
      break;
    }
    case 10:
      job.hold = field.integer != 0;
      break;
    case 11: {
      SLUICE_LET(unique, decode_unique(field.bytes));
      job.unique = unique;
      break;
    }
    default:
      break;
  }
  return {};
}

Result<NewJob> decode_template(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kTemplate));
  NewJob job;
  for (const FieldView& field : record) SLUICE_TRY(read_template_field(job, field));
  if (record.has(5)) {
    SLUICE_LET(priority, record.i64(5));
    job.priority = static_cast<std::int32_t>(priority);
  }
  return job;
}

}  // namespace

std::string encode(const ScheduleRecord& schedule) {
  RecordWriter writer(kSchedule);
  const Fields fields{writer};
  writer.field(1, schedule.name).field(2, schedule.cron);
  writer.field(3, encode_template(schedule.job)).field(4, schedule.created);
  fields.number(5, schedule.paused ? 1 : 0);
  fields.number(6, schedule.next);
  fields.number(7, schedule.planned);
  fields.bytes(8, schedule.last_id);
  fields.number(9, schedule.fired);
  fields.number(10, schedule.skipped);
  fields.bytes(11, schedule.error);
  return writer.finish();
}

Result<ScheduleRecord> decode_schedule(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kSchedule));
  ScheduleRecord schedule;
  SLUICE_LET(job, record.bytes(3));
  SLUICE_LET(decoded, decode_template(job));
  schedule.job = std::move(decoded);
  schedule.paused = record.has(5);
  for (const FieldView& field : record) {
    if (field.number == 1) schedule.name = field.bytes;
    if (field.number == 2) schedule.cron = field.bytes;
    if (field.number == 4) schedule.created = field.integer;
    if (field.number == 6) schedule.next = field.integer;
    if (field.number == 7) schedule.planned = field.integer;
    if (field.number == 8) schedule.last_id = field.bytes;
    if (field.number == 9) schedule.fired = field.integer;
    if (field.number == 10) schedule.skipped = field.integer;
    if (field.number == 11) schedule.error = field.bytes;
  }
  return schedule;
}

std::string encode(const BatchRecord& batch) {
  RecordWriter writer(kBatch);
  const Fields fields{writer};
  writer.field(1, batch.id).field(2, batch.created);
  fields.number(3, batch.sealed ? 1 : 0);
  fields.number(4, batch.cancelled ? 1 : 0);
  fields.number(5, batch.ended);
  if (batch.on_success) writer.field(6, encode_template(*batch.on_success));
  if (batch.on_end) writer.field(7, encode_template(*batch.on_end));
  fields.bytes(8, batch.success_id);
  fields.bytes(9, batch.end_id);
  fields.bytes(10, batch.error);
  return writer.finish();
}

Result<BatchRecord> decode_batch(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kBatch));
  BatchRecord batch{.sealed = record.has(3), .cancelled = record.has(4)};
  for (const FieldView& field : record) {
    if (field.number == 1) batch.id = field.bytes;
    if (field.number == 2) batch.created = field.integer;
    if (field.number == 5) batch.ended = field.integer;
    if (field.number == 6 || field.number == 7) {
      SLUICE_LET(job, decode_template(field.bytes));
      (field.number == 6 ? batch.on_success : batch.on_end) = std::move(job);
    }
    if (field.number == 8) batch.success_id = field.bytes;
    if (field.number == 9) batch.end_id = field.bytes;
    if (field.number == 10) batch.error = field.bytes;
  }
  return batch;
}

std::string encode(const NoteRecord& note) {
  RecordWriter writer(kNote, 64);
  writer.field(1, note.id);
  if (note.number != 0) writer.field(2, note.number);
  return writer.finish();
}

Result<NoteRecord> decode_note(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kNote));
  SLUICE_LET(id, record.bytes(1));
  SLUICE_LET(number, record.u64_or(2, 0));
  return NoteRecord{.id = std::string(id), .number = number};
}

std::string encode(const TieRecord& tie) {
  return RecordWriter(kTie, 96)
      .field(1, tie.queue)
      .field(2, tie.id)
      .field(3, static_cast<std::uint8_t>(tie.policy))
      .field(4, tie.token)
      .finish();
}

Result<TieRecord> decode_tie(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kTie));
  SLUICE_LET(queue, record.bytes(1));
  SLUICE_LET(id, record.bytes(2));
  SLUICE_LET(policy, record.u64(3));
  SLUICE_LET(token, record.u64(4));
  if (policy < 1 || policy > 3) return error(Code::corrupt, "a tie's policy is unknown");
  return TieRecord{.queue = std::string(queue),
                   .id = std::string(id),
                   .policy = static_cast<AfterPolicy>(policy),
                   .token = token};
}

void append_move(std::string& moves, std::string& last_id, std::string_view id, std::uint8_t from,
                 std::uint8_t to, std::uint32_t attempt) {
  const std::size_t most = std::min({id.size(), last_id.size(), kSharedMax});
  std::size_t shared = 0;
  while (shared < most && id[shared] == last_id[shared]) ++shared;
  // By hand, and short: there is one for every move of every job.
  moves += static_cast<char>(shared);
  moves += static_cast<char>(id.size() - 1);
  moves += static_cast<char>(from << 4 | to);
  moves += static_cast<char>(std::min(attempt, kAttemptsLong));
  if (attempt >= kAttemptsLong)
    for (unsigned shift = 0; shift < 32; shift += 8) moves += static_cast<char>(attempt >> shift);
  moves += id.substr(shared);
  last_id = id;
}

std::string encode_events(Millis at, std::uint64_t count, std::string_view moves) {
  return RecordWriter(kEvents, moves.size() + 32)
      .field(1, at)
      .field(2, count)
      .field(3, moves)
      .finish();
}

Result<EventsHead> decode_events_head(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kEvents));
  SLUICE_LET(at, record.u64(1));
  SLUICE_LET(count, record.u64(2));
  return EventsHead{.at = at, .count = count};
}

namespace {

/// Takes the first of the moves away from `moves`.
Result<EventsRecord::Move> take_move(std::string_view& moves, std::string_view last_id) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(moves[i]); };
  const auto cut_short = [] { return error(Code::corrupt, "an event is cut short"); };
  if (moves.size() < kMoveHeadBytes) return cut_short();
  const bool long_head = byte(3) == kAttemptsLong;
  const std::size_t head = long_head ? kMoveHeadBytes + 4 : kMoveHeadBytes;
  const std::size_t shared = byte(0);
  const std::size_t length = std::size_t{1} + byte(1);
  if (shared > last_id.size() || shared > length || moves.size() < head + length - shared)
    return cut_short();
  EventsRecord::Move move{.id = std::string(last_id.substr(0, shared)),
                          .from = static_cast<std::uint8_t>(byte(2) >> 4),
                          .to = static_cast<std::uint8_t>(byte(2) & 15),
                          .attempt = long_head ? 0U : byte(3)};
  for (std::size_t i = head; i > kMoveHeadBytes; --i)
    move.attempt = move.attempt << 8 | byte(i - 1);
  move.id += moves.substr(head, length - shared);
  if (move.from > kLaneCount || move.to < 1 || move.to > kLaneCount)
    return error(Code::corrupt, "an event names an unknown lane");
  moves.remove_prefix(head + length - shared);
  return move;
}

}  // namespace

Result<EventsRecord> decode_events(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kEvents));
  EventsRecord events;
  SLUICE_LET(at, record.u64(1));
  events.at = at;
  SLUICE_LET(count, record.u64(2));
  SLUICE_LET(moves, record.bytes(3));
  for (std::string_view last_id; !moves.empty(); last_id = events.moves.back().id) {
    SLUICE_LET(move, take_move(moves, last_id));
    events.moves.push_back(std::move(move));
  }
  if (events.moves.size() != count)
    return error(Code::corrupt, "there are other events than their record says");
  return events;
}

}  // namespace sluice::queue
