// SPDX-License-Identifier: MIT
// The record of a queue with its settings.
#include <cmath>

#include "codec/record.h"
#include "codec/tuple.h"
#include "queue/records.h"
#include "queue/retry_wire.h"

namespace sluice::queue {
namespace {

constexpr codec::RecordFormat kQueue{.type = 2, .major = 1, .minor = 1, .field_max = 18};
constexpr double kThousandths = 1000;

std::string encode_labels(const std::vector<Label>& labels) {
  codec::TupleWriter writer;
  for (const auto& label : labels) writer.string(label.name).number(label.priority);
  return writer.take();
}

Result<std::vector<Label>> decode_labels(std::string_view bytes) {
  std::vector<Label> labels;
  for (codec::TupleReader reader(bytes); !reader.finish().ok();) {
    SLUICE_LET(name, reader.string());
    SLUICE_LET(priority, reader.number<std::int32_t>());
    labels.push_back({.name = name, .priority = priority});
  }
  return labels;
}

std::string encode_rate(const Rate& rate) {
  return codec::TupleWriter().number(rate.jobs).number(rate.per.count()).number(rate.burst).take();
}

Result<Rate> decode_rate(std::string_view bytes) {
  codec::TupleReader reader(bytes);
  SLUICE_LET(jobs, reader.number<std::uint64_t>());
  SLUICE_LET(per, reader.number<std::int64_t>());
  SLUICE_LET(burst, reader.number<std::uint64_t>());
  SLUICE_TRY(reader.finish());
  return Rate{.jobs = jobs, .per = Duration(per), .burst = burst};
}

Status read_limits(const codec::RecordReader& record, QueueConfig& config) {
  for (const codec::FieldView& field : record) {
    const auto small = static_cast<std::uint32_t>(field.integer);
    if (field.number == 11) config.active_max = small;
    if (field.number == 12) config.group_max = small;
    if (field.number == 13) config.backlog_max = field.integer;
    if (field.number == 15) config.shards = small;
    if (field.number == 16) config.fair = field.integer != 0;
    if (field.number == 14) {
      SLUICE_LET(rate, decode_rate(field.bytes));
      config.rate = rate;
    }
  }
  return {};
}

}  // namespace

std::string encode(const RetryPolicy& policy) {
  return codec::TupleWriter()
      .number(policy.attempts_max)
      .number(to_millis(policy.base))
      .number(static_cast<std::uint64_t>(std::llround(policy.factor * kThousandths)))
      .number(to_millis(policy.cap))
      .number(static_cast<std::uint64_t>(std::llround(policy.jitter * kThousandths)))
      .take();
}

Result<RetryPolicy> decode_retry(std::string_view bytes) {
  codec::TupleReader reader(bytes);
  SLUICE_LET(attempts, reader.number<std::uint32_t>());
  SLUICE_LET(base, reader.number<Millis>());
  SLUICE_LET(factor, reader.number<std::uint32_t>());
  SLUICE_LET(cap, reader.number<Millis>());
  SLUICE_LET(jitter, reader.number<std::uint32_t>());
  SLUICE_TRY(reader.finish());
  return RetryPolicy{.attempts_max = attempts,
                     .base = to_duration(base),
                     .factor = factor / kThousandths,
                     .cap = to_duration(cap),
                     .jitter = jitter / kThousandths};
}

std::string encode(const QueueRecord& queue) {
  static const QueueConfig kDefault;
  const QueueConfig& config = queue.config;
  codec::RecordWriter writer(kQueue);
  writer.field(1, queue.name).field(2, queue.created);
  if (queue.paused) writer.field(3, 1U);
  if (config.priority != kDefault.priority) writer.field_signed(4, config.priority);
  if (config.labels != kDefault.labels) writer.field(5, encode_labels(config.labels));
  if (config.lease != kDefault.lease) writer.field(6, to_millis(config.lease));
  if (config.retry != kDefault.retry) writer.field(7, encode(config.retry));
  if (config.lapses_max != kDefault.lapses_max) writer.field(8, config.lapses_max);
  if (config.done_retention > Duration{}) writer.field(9, to_millis(config.done_retention));
  if (config.dead_retention != Duration::max()) writer.field(10, to_millis(config.dead_retention));
  if (config.active_max) writer.field(11, *config.active_max);
  if (config.group_max) writer.field(12, *config.group_max);
  if (config.backlog_max) writer.field(13, *config.backlog_max);
  if (config.rate) writer.field(14, encode_rate(*config.rate));
  if (config.shards != kDefault.shards) writer.field(15, config.shards);
  if (config.fair) writer.field(16, 1U);
  if (queue.reviewing) writer.field(17, 1U);
  if (!config.events) writer.field(18, 1U);
  return writer.finish();
}

Result<QueueRecord> decode_queue(std::string_view bytes) {
  SLUICE_LET(record, codec::RecordReader::open(bytes, kQueue));
  QueueRecord queue;
  QueueConfig& config = queue.config;
  SLUICE_LET(name, record.bytes(1));
  queue.name = name;
  SLUICE_LET(created, record.u64(2));
  queue.created = created;
  queue.paused = record.has(3);
  queue.reviewing = record.has(17);
  config.events = !record.has(18);
  SLUICE_LET(priority, record.i64_or(4, config.priority));
  config.priority = static_cast<std::int32_t>(priority);
  if (record.has(5)) {
    SLUICE_LET(bytes_of, record.bytes(5));
    SLUICE_LET(labels, decode_labels(bytes_of));
    config.labels = labels;
  }
  SLUICE_LET(lease, record.u64_or(6, to_millis(config.lease)));
  config.lease = to_duration(lease);
  if (record.has(7)) {
    SLUICE_LET(bytes_of, record.bytes(7));
    SLUICE_LET(retry, decode_retry(bytes_of));
    config.retry = retry;
  }
  SLUICE_LET(lapses, record.u64_or(8, config.lapses_max));
  config.lapses_max = static_cast<std::uint32_t>(lapses);
  SLUICE_LET(done, record.u64_or(9, 0));
  config.done_retention = to_duration(done);
  SLUICE_LET(dead, record.u64_or(10, 0));
  if (record.has(10)) config.dead_retention = to_duration(dead);
  SLUICE_TRY(read_limits(record, config));
  return queue;
}

}  // namespace sluice::queue
