// SPDX-License-Identifier: MIT
// The record of a job: by far the one that is read and written most.
#include "codec/record.h"
#include "codec/tuple.h"
#include "queue/records.h"
#include "queue/retry_wire.h"

namespace sluice::queue {
namespace {

constexpr codec::RecordFormat kJob{.type = 3, .major = 1, .minor = 1, .field_max = 30};

std::string encode(const UniqueRecord& unique) {
  return codec::TupleWriter()
      .string(unique.key)
      .number(unique.lanes)
      .number(unique.until)
      .number(unique.held ? 1 : 0)
      .take();
}

Result<UniqueRecord> decode_unique_record(std::string_view bytes) {
  codec::TupleReader reader(bytes);
  SLUICE_LET(key, reader.string());
  SLUICE_LET(lanes, reader.number<LaneBits>());
  SLUICE_LET(until, reader.number<Millis>());
  SLUICE_LET(held, reader.number<std::uint8_t>());
  SLUICE_TRY(reader.finish());
  return UniqueRecord{.key = key, .lanes = lanes, .until = until, .held = held != 0};
}

Status read_field(JobRecord& job, const codec::FieldView& field) {
  const auto small = static_cast<std::uint32_t>(field.integer);
  switch (field.number) {
    case 1:
      job.id = field.bytes;
      break;
    case 2:
      if (field.integer < 1 || field.integer > kLaneCount)
        return error(Code::corrupt, "a job's lane is unknown");
      job.lane = static_cast<Lane>(field.integer);
      break;
    case 4:
      job.group = field.bytes;
      break;
    case 5:
      job.shard = small;
      break;
    case 6:
      job.enqueued = field.integer;
      break;
    case 7:
      job.due = field.integer;
      break;
    case 8:
      job.expires = field.integer;
      break;
    case 9:
      job.attempts = small;
      break;
    case 10:
      job.claims = field.integer;
      break;
    case 11:
      job.lapses = small;
      break;
    case 12:
      job.claimed = field.integer;
      break;
    case 13:
      job.deadline = field.integer;
      break;
    case 14:
      job.worker = field.bytes;
      break;
    default:
      break;
  }
  return {};
}

Status read_late_field(JobRecord& job, const codec::FieldView& field) {
  switch (field.number) {
    case 15:
      job.since = field.integer;
      break;
    case 16:
      if (field.integer > 5) return error(Code::corrupt, "a job's reason is unknown");
      job.reason = static_cast<DeathReason>(field.integer);
      break;
    case 17:
      job.error = field.bytes;
      break;
    case 18:
      job.progress = field.bytes;
      break;
    case 19:
      job.result = field.bytes;
      break;
    case 20: {
      SLUICE_LET(policy, decode_retry(field.bytes));
      job.retry = policy;
      break;
    }
    case 21:
      job.payload = field.bytes;
      break;
    case 22:
      job.chunked_bytes = field.integer;
      break;
    case 23:
      job.history = static_cast<std::uint32_t>(field.integer);
      break;
    default:
      break;
  }
  return {};
}

Status read_flow_field(JobRecord& job, const codec::FieldView& field) {
  switch (field.number) {
    case 24: {
      SLUICE_LET(unique, decode_unique_record(field.bytes));
      job.unique = unique;
      break;
    }
    case 25:
      job.waits = field.integer != 0;
      break;
    case 26:
      job.waited_for = field.integer != 0;
      break;
    case 27:
      job.batch = field.bytes;
      break;
    case 28:
      job.schedule = field.bytes;
      break;
    case 29:
      job.planned = field.integer;
      break;
    case 30:
      job.finished = field.integer;
      break;
    default:
      break;
  }
  return {};
}

}  // namespace

std::string encode(const JobRecord& job) {
  codec::RecordWriter writer(kJob, 192 + job.payload.size() + job.result.size());
  const auto number = [&](unsigned field, std::uint64_t value) {
    if (value != 0) writer.field(field, value);
  };
  const auto bytes = [&](unsigned field, std::string_view value) {
    if (!value.empty()) writer.field(field, value);
  };
  writer.field(1, job.id).field(2, static_cast<std::uint8_t>(job.lane));
  writer.field_signed(3, job.priority);
  bytes(4, job.group);
  number(5, job.shard);
  number(6, job.enqueued);
  number(7, job.due);
  number(8, job.expires);
  number(9, job.attempts);
  number(10, job.claims);
  number(11, job.lapses);
  number(12, job.claimed);
  number(13, job.deadline);
  bytes(14, job.worker);
  number(15, job.since);
  number(16, static_cast<std::uint64_t>(job.reason));
  bytes(17, job.error);
  bytes(18, job.progress);
  bytes(19, job.result);
  if (job.retry) writer.field(20, encode(*job.retry));
  bytes(21, job.payload);
  number(22, job.chunked_bytes);
  number(23, job.history);
  if (job.unique) writer.field(24, encode(*job.unique));
  number(25, job.waits ? 1 : 0);
  number(26, job.waited_for ? 1 : 0);
  bytes(27, job.batch);
  bytes(28, job.schedule);
  number(29, job.planned);
  number(30, job.finished);
  return writer.finish();
}

Status decode_job_into(JobRecord& job, std::string_view bytes) {
  SLUICE_LET(record, codec::RecordReader::open(bytes, kJob));
  for (const codec::FieldView& field : record)
    SLUICE_TRY(field.number < 15   ? read_field(job, field)
               : field.number < 24 ? read_late_field(job, field)
                                   : read_flow_field(job, field));
  SLUICE_LET(priority, record.i64(3));
  job.priority = static_cast<std::int32_t>(priority);
  return {};
}

std::optional<WallTime> planned_of(const JobRecord& record) {
  if (record.planned == 0) return std::nullopt;
  return to_wall(record.planned);
}

Result<JobRecord> decode_job(std::string_view bytes) {
  JobRecord job;
  SLUICE_TRY(decode_job_into(job, bytes));
  return job;
}

}  // namespace sluice::queue
