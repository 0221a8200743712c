// SPDX-License-Identifier: MIT
// I1 to I3 of queues and groups, I6 to I9: their records, names, counts, offers and limits.
#include <fmt/format.h>

#include "queue/group.h"
#include "queue/names.h"
#include "queue/verify/check.h"

namespace sluice::queue {
namespace {

std::size_t index(Lane lane) {
  return static_cast<std::size_t>(lane);
}

}  // namespace

Status Verifier::check_header() {
  bool found = false;
  SLUICE_TRY(each(Space::header, [&](std::string_view key, std::string_view value) -> Status {
    found = true;
    SLUICE_LET(header, decode_header(value));
    if (header.major != kFormatMajor || header.minor > kFormatMinor)
      breach("I1", key, fmt::format("the format is {}.{}", header.major, header.minor));
    return {};
  }));
  if (!found) breach("I1", header_key(), "the header is missing");
  return {};
}

Status Verifier::load_queues() {
  SLUICE_TRY(each(Space::queue, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(record, decode_queue(value));
    const Bytes16 hash = hash_of(record.name);
    if (Keys(hash).queue() != key) breach("I2", key, "the queue's name is not that of its key");
    SLUICE_LET(named, there(queue_name_key(record.name)));
    if (!named) breach("I2", key, fmt::format("the name \"{}\" is not listed", record.name));
    queues_[hash].record = std::move(record);
    return {};
  }));
  return each(Space::queue_name, [&](std::string_view key, std::string_view) -> Status {
    SLUICE_LET(reader, read_key(key, Space::queue_name));
    SLUICE_LET(name, reader.string());
    if (!queues_.contains(hash_of(name)))
      breach("I2", key, fmt::format("the listed queue \"{}\" does not exist", name));
    return {};
  });
}

Status Verifier::load_groups() {
  SLUICE_TRY(each(Space::group, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::group));
    Bytes16 queue_hash;
    QueueCheck* queue = queue_of(reader, key, &queue_hash);
    if (queue == nullptr) return {};
    SLUICE_LET(record, decode_group(value));
    const Keys keys(queue_hash);
    const Bytes16 hash = hash_of(record.name);
    if (keys.group(hash) != key) breach("I2", key, "the group's name is not that of its key");
    SLUICE_LET(named, there(keys.group_name(record.name)));
    if (!named) breach("I2", key, fmt::format("the group \"{}\" is not listed", record.name));
    queue->groups[hash].record = std::move(record);
    ++report_.groups;
    return {};
  }));
  return each(Space::group_name, [&](std::string_view key, std::string_view) -> Status {
    SLUICE_LET(reader, read_key(key, Space::group_name));
    const QueueCheck* queue = queue_of(reader, key);
    if (queue == nullptr) return {};
    SLUICE_LET(name, reader.string());
    if (!queue->groups.contains(hash_of(name)))
      breach("I2", key, fmt::format("the listed group \"{}\" does not exist", name));
    return {};
  });
}

Status Verifier::check_counts() {
  return each(Space::count, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::count));
    QueueCheck* queue = queue_of(reader, key);
    if (queue == nullptr) return {};
    SLUICE_LET(lane, reader.number<std::uint8_t>());
    if (lane < 1 || lane > kLaneCount) return error(Code::corrupt, "a count of no lane");
    SLUICE_LET(count, kv::decode_counter(std::string(value)));
    const auto counted = static_cast<std::int64_t>(queue->jobs[lane]);
    if (count != counted)
      breach("I6", key,
             fmt::format("queue \"{}\" has {} {} jobs, its count says {}", queue->record.name,
                         counted, lane_name(static_cast<Lane>(lane)), count));
    queue->counted[lane] = true;
    return {};
  });
}

Status Verifier::check_group_counts() {
  return each(Space::group_count, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::group_count));
    QueueCheck* queue = queue_of(reader, key);
    if (queue == nullptr) return {};
    SLUICE_LET(mark, reader.mark());
    SLUICE_LET(lane, reader.number<std::uint8_t>());
    if (lane < 1 || lane > kLaneCount) return error(Code::corrupt, "a count of no lane");
    SLUICE_LET(count, kv::decode_counter(std::string(value)));
    const auto group = queue->groups.find(Bytes16::of(mark));
    if (group == queue->groups.end()) {
      breach("I6", key, "the count is of a group that does not exist");
      return {};
    }
    group->second.counted[lane] = true;
    const auto counted = static_cast<std::int64_t>(group->second.jobs[lane]);
    if (count != counted)
      breach(
          "I6", key,
          fmt::format("group \"{}\" has {} {} jobs, its count says {}", group->second.record.name,
                      counted, lane_name(static_cast<Lane>(lane)), count));
    return {};
  });
}

/// What belongs to queues and not to jobs: slots, blocks, reviews, and what need only be readable.
Status Verifier::check_settings() {
  SLUICE_TRY(each(Space::slot, [&](std::string_view key, std::string_view) -> Status {
    SLUICE_LET(reader, read_key(key, Space::slot));
    QueueCheck* queue = queue_of(reader, key);
    if (queue == nullptr) return {};
    SLUICE_LET(shard, reader.number<std::uint32_t>());
    if (shard >= queue->record.config.shards) breach("I8", key, "a slot of no shard");
    ++queue->slots;
    return {};
  }));
  SLUICE_TRY(each(Space::blocked, [&](std::string_view key, std::string_view) -> Status {
    SLUICE_LET(reader, read_key(key, Space::blocked));
    QueueCheck* queue = queue_of(reader, key);
    if (queue == nullptr) return {};
    SLUICE_LET(mark, reader.mark());
    const auto group = queue->groups.find(Bytes16::of(mark));
    if (group == queue->groups.end())
      breach("I7", key, "a group that does not exist is blocked");
    else
      ++group->second.blocks;
    return {};
  }));
  const auto readable = [&](Space space, auto decode) {
    return each(space, [&, space, decode](std::string_view key, std::string_view value) -> Status {
      SLUICE_LET(reader, read_key(key, space));
      if (space != Space::worker) queue_of(reader, key);
      return decode(value);
    });
  };
  const auto counter = [](std::string_view value) {
    return status_of(kv::decode_counter(std::string(value)));
  };
  SLUICE_TRY(readable(Space::bucket, [](auto value) { return status_of(decode_bucket(value)); }));
  SLUICE_TRY(
      readable(Space::operation, [](auto value) { return status_of(decode_operation(value)); }));
  SLUICE_TRY(readable(Space::worker, [](auto value) { return status_of(decode_worker(value)); }));
  SLUICE_TRY(readable(Space::claimer, [](auto value) { return status_of(decode_claimer(value)); }));
  SLUICE_TRY(readable(Space::review, [](auto) { return Status(); }));
  SLUICE_TRY(readable(Space::round, counter));
  SLUICE_TRY(readable(Space::debt, counter));
  for (auto& [hash, queue] : queues_) {
    SLUICE_LET(review, there(Keys(hash).review()));
    queue.review = review;
    const auto& active_max = queue.record.config.active_max;
    SLUICE_LET(debt_value, reader_.get(Keys(hash).debt()));
    SLUICE_LET(debt, kv::decode_counter(debt_value));
    const auto slots = static_cast<std::int64_t>(queue.slots);
    const auto leased = static_cast<std::int64_t>(queue.jobs[index(Lane::leased)]);
    const bool balanced = active_max ? slots + leased - debt == std::int64_t{*active_max} &&
                                           debt >= 0 && (slots == 0 || debt == 0)
                                     : slots == 0 && debt == 0;
    if (!balanced)
      breach("I8", Keys(hash).queue(),
             fmt::format("queue \"{}\": {} free slots, {} leased jobs and a debt of {} do not make "
                         "its limit of {}",
                         queue.record.name, slots, leased, debt,
                         active_max ? std::to_string(*active_max) : "none"));
  }
  return {};
}

void Verifier::check_group(const Keys& keys, const QueueCheck& queue, const Bytes16& hash,
                           const GroupCheck& group) {
  using State = GroupRecord::State;
  const auto& record = group.record;
  const std::string key = keys.group(hash);
  const bool has_ready = group.jobs[index(Lane::ready)] > 0;
  const bool offered = record.state == State::offered;
  const bool blocked = record.state == State::blocked;
  if (has_ready != (record.state != State::idle))
    breach("I7", key,
           fmt::format("group \"{}\" has {} ready jobs and is {}", record.name,
                       group.jobs[index(Lane::ready)],
                       offered   ? "offered"
                       : blocked ? "blocked"
                                 : "idle"));
  if (group.offers != (offered ? 1U : 0U) || group.blocks != (blocked ? 1U : 0U))
    breach("I7", key,
           fmt::format("group \"{}\" has {} offers and {} blocks, which is not its state",
                       record.name, group.offers, group.blocks));
  const auto limit = record.limit ? record.limit : queue.record.config.group_max;
  const std::uint64_t active = group.jobs[index(Lane::leased)];
  if (blocked && !queue.review && (!limit || record.name.empty() || active < *limit))
    breach("I7", key,
           fmt::format("group \"{}\" is blocked with {} active jobs", record.name, active));
  std::uint64_t jobs = 0;
  for (std::size_t lane = 1; lane <= kLaneCount; ++lane) {
    jobs += group.jobs[lane];
    if (group.jobs[lane] > 0 && !group.counted[lane] && !record.name.empty())
      breach("I6", keys.group_count(hash, static_cast<Lane>(lane)),
             fmt::format("group \"{}\" has {} {} jobs and no count of them", record.name,
                         group.jobs[lane], lane_name(static_cast<Lane>(lane))));
  }
  if (jobs == 0 && !record.limit)
    breach("I9", key, fmt::format("group \"{}\" has nothing left", record.name));
}

void Verifier::check_totals(const Bytes16& hash, const QueueCheck& queue) {
  const Keys keys(hash);
  for (std::size_t lane = 1; lane <= kLaneCount; ++lane)
    if (queue.jobs[lane] > 0 && !queue.counted[lane])
      breach("I6", keys.count(static_cast<Lane>(lane)),
             fmt::format("queue \"{}\" has {} {} jobs and no count of them", queue.record.name,
                         queue.jobs[lane], lane_name(static_cast<Lane>(lane))));
  if (queue.review != queue.record.reviewing)
    breach("I9", keys.review(), "the queue and its review do not agree");
  for (const auto& [group_hash, group] : queue.groups) check_group(keys, queue, group_hash, group);
}

}  // namespace sluice::queue
