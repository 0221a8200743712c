// SPDX-License-Identifier: MIT
#include "queue/keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

codec::TupleWriter begin_space(Space space) {
  codec::TupleWriter writer({&kKeyPrefix, 1});
  writer.number(static_cast<std::uint8_t>(space));
  return writer;
}

/// From the first key under `prefix` to the last one whose next element is a number <= `until`.
kv::Range numbered_until(std::string prefix, Millis until) {
  const std::string end = codec::TupleWriter(prefix).number(until).take();
  return {.begin = codec::extensions_of(prefix).begin, .end = codec::extensions_of(end).end};
}

}  // namespace

std::string header_key() {
  return begin_space(Space::header).take();
}

std::string queue_name_key(std::string_view name) {
  return begin_space(Space::queue_name).string(name).take();
}

std::string worker_key(std::string_view name) {
  return begin_space(Space::worker).string(name).take();
}

Keys::Keys(const Bytes16& queue) : head_{} {
  const std::string head = begin_space(Space::queue).mark(queue.view()).take();
  SLUICE_CHECK(head.size() == head_.size());
  std::copy(head.begin(), head.end(), head_.begin());
}

kv::Range range_under(const std::string& prefix) {
  auto range = codec::extensions_of(prefix);
  return {.begin = std::move(range.begin), .end = std::move(range.end)};
}

kv::Range space_range(Space space) {
  return range_under(begin_space(space).take());
}

Result<codec::TupleReader> read_key(std::string_view key, Space space) {
  if (key.empty() || key[0] != kKeyPrefix)
    return error(Code::corrupt, "the key " + to_hex(key) + " is not one of a queue");
  codec::TupleReader reader(key.substr(1));
  SLUICE_LET(number, reader.number<std::uint8_t>());
  if (number != static_cast<std::uint8_t>(space))
    return error(Code::corrupt, fmt::format("the key {} is in space {}, not in {}", to_hex(key),
                                            number, static_cast<int>(space)));
  return reader;
}

kv::Range Keys::offers(std::uint32_t shard) const {
  return range_under(begin(Space::offer).number(shard).take());
}

kv::Range Keys::group_jobs(const Bytes16& group) const {
  return range_under(begin(Space::group_job).mark(group.view()).take());
}

kv::Range Keys::group_counts(const Bytes16& group) const {
  return range_under(begin(Space::group_count).mark(group.view()).take());
}

kv::Range Keys::timed_until(Space space, std::uint32_t shard, Millis until) const {
  return numbered_until(begin(space).number(shard).take(), until);
}

kv::Range Keys::timed_all(Space space, std::uint32_t shard) const {
  return range_under(begin(space).number(shard).take());
}

kv::Range Keys::rest_all(Lane lane) const {
  return range_under(begin(Space::rest).number(number(lane)).take());
}

kv::Range Keys::rest_until(Lane lane, Millis until) const {
  return numbered_until(begin(Space::rest).number(number(lane)).take(), until);
}

kv::Range Keys::slots(std::uint32_t shard) const {
  return range_under(begin(Space::slot).number(shard).take());
}

kv::Range Keys::attempts(const Bytes16& job) const {
  return range_under(begin(Space::attempt).mark(job.view()).take());
}

kv::Range Keys::operations_before(std::uint64_t hour) const {
  const std::string prefix = begin(Space::operation).take();
  return {.begin = codec::extensions_of(prefix).begin,
          .end = codec::TupleWriter(prefix).number(hour).take()};
}

kv::Range Keys::agenda_until(Millis until) const {
  return numbered_until(begin(Space::agenda).take(), until);
}

kv::Range Keys::afters(const Bytes16& job) const {
  return range_under(begin(Space::after).mark(job.view()).take());
}

kv::Range Keys::dependants(const Bytes16& job, AfterPolicy policy) const {
  return range_under(
      begin(Space::dependant).mark(job.view()).number(static_cast<std::uint8_t>(policy)).take());
}

kv::Range Keys::members(std::string_view batch) const {
  return range_under(begin(Space::member).string(batch).take());
}

kv::Range Keys::events(std::uint32_t shard) const {
  return range_under(begin(Space::event).number(shard).take());
}

kv::Range Keys::all(Space space) const {
  return range_under(begin(space).take());
}

std::string group_value(const Bytes16& group) {
  std::string value = "g";
  value += group.view();
  return value;
}

Result<Offered> read_offered(std::string_view value, const Bytes16& place) {
  if (value.empty()) return Offered{.job = place};
  if (value.size() == Bytes16::kSize) return Offered{.job = Bytes16::of(value)};
  if (value.size() == Bytes16::kSize + 1 && value[0] == 'g')
    return Offered{.group = Bytes16::of(value.substr(1)), .is_group = true};
  return error(Code::corrupt, "the value " + to_hex(value) + " names neither a job nor a group");
}

Result<Spot> read_offer_key(std::string_view key) {
  SLUICE_LET(reader, read_key(key, Space::offer));
  SLUICE_TRY(reader.mark());
  SLUICE_TRY(reader.number<std::uint32_t>());
  SLUICE_LET(order, reader.number<std::int64_t>());
  SLUICE_LET(place, reader.mark());
  SLUICE_TRY(reader.finish());
  return Spot{.order = order, .place = Bytes16::of(place)};
}

Result<Spot> read_group_job_key(std::string_view key) {
  SLUICE_LET(reader, read_key(key, Space::group_job));
  SLUICE_TRY(reader.mark());
  SLUICE_TRY(reader.mark());
  SLUICE_LET(order, reader.number<std::int32_t>());
  SLUICE_LET(place, reader.mark());
  SLUICE_TRY(reader.finish());
  return Spot{.order = order, .place = Bytes16::of(place)};
}

Result<Timed> read_timed_key(Space space, std::string_view key) {
  SLUICE_LET(reader, read_key(key, space));
  SLUICE_TRY(reader.mark());
  SLUICE_TRY(reader.number<std::uint32_t>());  // The shard; in the space rest, the lane.
  SLUICE_LET(at, reader.number<Millis>());
  SLUICE_LET(job, reader.mark());
  SLUICE_TRY(reader.finish());
  return Timed{.at = at, .job = Bytes16::of(job)};
}

}  // namespace sluice::queue
