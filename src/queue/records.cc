// SPDX-License-Identifier: MIT
#include "queue/records.h"

#include <algorithm>
#include <chrono>

#include "codec/record.h"
#include "codec/tuple.h"

namespace sluice::queue {
namespace {

using codec::FieldView;
using codec::RecordFormat;
using codec::RecordReader;
using codec::RecordWriter;

constexpr RecordFormat kHeader{.type = 1, .major = 1, .minor = 0, .field_max = 3};
constexpr RecordFormat kChunk{.type = 4, .major = 1, .minor = 0, .field_max = 1};
constexpr RecordFormat kGroup{.type = 5, .major = 1, .minor = 0, .field_max = 4};
constexpr RecordFormat kBucket{.type = 6, .major = 1, .minor = 0, .field_max = 3};
constexpr RecordFormat kAttempt{.type = 7, .major = 1, .minor = 0, .field_max = 6};
constexpr RecordFormat kOperation{.type = 8, .major = 1, .minor = 0, .field_max = 3};
constexpr RecordFormat kWorker{.type = 9, .major = 1, .minor = 0, .field_max = 8};
constexpr RecordFormat kClaimer{.type = 10, .major = 1, .minor = 0, .field_max = 1};

}  // namespace

Millis to_millis(WallTime time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return ms > 0 ? static_cast<Millis>(ms) : 0;
}

Millis to_millis(Duration duration) {
  // Not chrono::ceil, which overflows at the maximum.
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(duration);
  const auto more = ms < duration ? 1 : 0;
  return ms.count() + more > 0 ? static_cast<Millis>(ms.count() + more) : 0;
}

Duration to_duration(Millis ms) {
  constexpr auto kMax = std::chrono::floor<std::chrono::milliseconds>(Duration::max());
  return std::chrono::milliseconds(std::min(ms, static_cast<Millis>(kMax.count())));
}

WallTime to_wall(Millis ms) {
  return WallTime(to_duration(ms));
}

std::string encode(const HeaderRecord& record) {
  return RecordWriter(kHeader)
      .field(1, record.major)
      .field(2, record.minor)
      .field(3, record.created)
      .finish();
}

Result<HeaderRecord> decode_header(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kHeader));
  SLUICE_LET(major, record.u64(1));
  SLUICE_LET(minor, record.u64(2));
  SLUICE_LET(created, record.u64(3));
  return HeaderRecord{.major = major, .minor = minor, .created = created};
}

std::string encode_chunk(std::string_view bytes) {
  return RecordWriter(kChunk, bytes.size() + 16).field(1, bytes).finish();
}

Result<std::string> decode_chunk(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kChunk));
  SLUICE_LET(chunk, record.bytes(1));
  return std::string(chunk);
}

std::string encode(const GroupRecord& record) {
  RecordWriter writer(kGroup);
  writer.field(1, record.name);
  if (record.limit) writer.field(2, *record.limit);
  if (record.state != GroupRecord::State::idle)
    writer.field(3, static_cast<std::uint8_t>(record.state));
  if (record.round > 0) writer.field(4, record.round);
  return writer.finish();
}

Result<GroupRecord> decode_group(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kGroup));
  GroupRecord group;
  SLUICE_LET(name, record.bytes(1));
  group.name = name;
  SLUICE_LET(limit, record.u64_or(2, 0));
  if (record.has(2)) group.limit = static_cast<std::uint32_t>(limit);
  SLUICE_LET(state, record.u64_or(3, 0));
  if (state > 2) return error(Code::corrupt, "a group's state is none of the three");
  group.state = static_cast<GroupRecord::State>(state);
  SLUICE_LET(round, record.u64_or(4, 0));
  group.round = round;
  return group;
}

std::string encode(const BucketState& state) {
  return RecordWriter(kBucket)
      .field(1, static_cast<std::uint64_t>(state.as_of.count()))
      .field(2, state.tokens)
      .field(3, state.part)
      .finish();
}

Result<BucketState> decode_bucket(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kBucket));
  SLUICE_LET(as_of, record.u64(1));
  SLUICE_LET(tokens, record.u64(2));
  SLUICE_LET(part, record.u64(3));
  return BucketState{
      .as_of = Duration(static_cast<std::int64_t>(as_of)), .tokens = tokens, .part = part};
}

std::string encode(const Attempt& attempt) {
  return RecordWriter(kAttempt)
      .field(1, attempt.number)
      .field(2, to_millis(attempt.started))
      .field(3, to_millis(attempt.ended))
      .field(4, attempt.worker)
      .field(5, static_cast<std::uint8_t>(attempt.outcome))
      .field(6, attempt.error)
      .finish();
}

Result<Attempt> decode_attempt(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kAttempt));
  SLUICE_LET(number, record.u64(1));
  SLUICE_LET(started, record.u64(2));
  SLUICE_LET(ended, record.u64(3));
  SLUICE_LET(worker, record.bytes(4));
  SLUICE_LET(outcome, record.u64(5));
  SLUICE_LET(text, record.bytes(6));
  if (outcome < 1 || outcome > 5) return error(Code::corrupt, "an attempt's outcome is unknown");
  return Attempt{.number = static_cast<std::uint32_t>(number),
                 .started = to_wall(started),
                 .ended = to_wall(ended),
                 .worker = std::string(worker),
                 .outcome = static_cast<Outcome>(outcome),
                 .error = std::string(text)};
}

std::string encode(const OperationRecord& record) {
  return RecordWriter(kOperation)
      .field(1, record.verb)
      .field(2, record.request)
      .field(3, record.results)
      .finish();
}

Result<OperationRecord> decode_operation(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kOperation));
  SLUICE_LET(verb, record.bytes(1));
  SLUICE_LET(request, record.u64(2));
  SLUICE_LET(results, record.bytes(3));
  return OperationRecord{.verb = std::string(verb),
                         .request = static_cast<std::uint32_t>(request),
                         .results = std::string(results)};
}

std::string encode(const Worker& worker) {
  codec::TupleWriter queues;
  for (const auto& name : worker.queues) queues.string(name);
  return RecordWriter(kWorker)
      .field(1, worker.name)
      .field(2, worker.host)
      .field(3, worker.pid)
      .field(4, worker.slots)
      .field(5, queues.take())
      .field(6, to_millis(worker.started))
      .field(7, to_millis(worker.seen))
      .field(8, to_millis(worker.expires))
      .finish();
}

Result<Worker> decode_worker(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kWorker));
  Worker worker;
  for (const FieldView& field : record) {
    switch (field.number) {
      case 1:
        worker.name = field.bytes;
        break;
      case 2:
        worker.host = field.bytes;
        break;
      case 3:
        worker.pid = field.integer;
        break;
      case 4:
        worker.slots = static_cast<std::uint32_t>(field.integer);
        break;
      case 6:
        worker.started = to_wall(field.integer);
        break;
      case 7:
        worker.seen = to_wall(field.integer);
        break;
      case 8:
        worker.expires = to_wall(field.integer);
        break;
      default:
        break;
    }
  }
  SLUICE_LET(queues, record.bytes(5));
  for (codec::TupleReader names(queues); !names.finish().ok();) {
    SLUICE_LET(name, names.string());
    worker.queues.push_back(name);
  }
  return worker;
}

std::string encode_claimer(Millis expires) {
  return RecordWriter(kClaimer).field(1, expires).finish();
}

Result<Millis> decode_claimer(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kClaimer));
  return record.u64(1);
}

}  // namespace sluice::queue
