// SPDX-License-Identifier: MIT
// I3 to I5 and I7 from the other side: no entry without the job that it is for.
#include <fmt/format.h>

#include "queue/group.h"
#include "queue/names.h"
#include "queue/verify/check.h"

namespace sluice::queue {

Result<std::optional<StoredJob>> Verifier::job_at(const Keys& keys, const Bytes16& number,
                                                  std::string_view key) {
  std::optional<StoredJob> job;
  SLUICE_LET(value, reader_.get(keys.job(number)));
  if (!value) {
    breach("I4", key, "the entry is for a job that does not exist");
    return job;
  }
  // A damaged record is the breach of its own key.
  if (auto stored = decode_stored_job(*value, number)) job = std::move(*stored);
  return job;
}

Status Verifier::check_entries() {
  SLUICE_TRY(check_ids());
  SLUICE_TRY(check_offers());
  SLUICE_TRY(check_group_jobs());
  for (const Space space : {Space::scheduled, Space::leased, Space::rest, Space::expiry})
    SLUICE_TRY(check_timed(space));
  SLUICE_TRY(check_payloads());
  return check_attempts();
}

Status Verifier::check_ids() {
  return each(Space::id, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::id));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    SLUICE_LET(id, reader.string());
    if (value.size() != Bytes16::kSize) return error(Code::corrupt, "an id leads nowhere");
    SLUICE_LET(job, job_at(Keys(hash), Bytes16::of(value), key));
    if (job && job->record.id != id)
      breach("I3", key, fmt::format("the id \"{}\" leads to job \"{}\"", id, job->record.id));
    return {};
  });
}

Status Verifier::check_offers() {
  return each(Space::offer, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::offer));
    Bytes16 hash;
    QueueCheck* queue = queue_of(reader, key, &hash);
    if (queue == nullptr) return {};
    const Keys keys(hash);
    const QueueConfig& config = queue->record.config;
    SLUICE_LET(spot, read_offer_key(key));
    SLUICE_LET(offered, read_offered(value, spot.place));
    if (offered.is_group) {
      const auto found = queue->groups.find(offered.group);
      if (found == queue->groups.end()) {
        breach("I7", key, "the offer is for a group that does not exist");
        return {};
      }
      GroupCheck& group = found->second;
      ++group.offers;
      const std::uint32_t shard = shard_for(config, group.record.name, {});
      const std::optional<Spot> right =
          config.fair
              ? Spot{.order = static_cast<std::int64_t>(group.record.round), .place = offered.group}
              : group.first;
      if (!right || keys.offer(shard, right->order, right->place) != key)
        breach("I7", key,
               fmt::format("group \"{}\" is offered at another place than its own",
                           group.record.name));
      return {};
    }
    SLUICE_LET(job, job_at(keys, offered.job, key));
    if (!job) return {};
    const JobRecord& record = job->record;
    if (record.lane != Lane::ready || config.fair || !record.group.empty() ||
        keys.offer(record.shard, record.priority, job->place) != key)
      breach("I4", key, fmt::format("job \"{}\" does not belong here", record.id));
    return {};
  });
}

Status Verifier::check_group_jobs() {
  return each(Space::group_job, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::group_job));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    const Keys keys(hash);
    SLUICE_LET(spot, read_group_job_key(key));
    SLUICE_LET(offered, read_offered(value, spot.place));
    SLUICE_LET(job, job_at(keys, offered.job, key));
    if (!job) return {};
    const JobRecord& record = job->record;
    if (record.lane != Lane::ready ||
        keys.group_job(hash_of(record.group), record.priority, job->place) != key)
      breach("I4", key, fmt::format("job \"{}\" does not belong here", record.id));
    return {};
  });
}

Status Verifier::check_timed(Space space) {
  return each(space, [&, space](std::string_view key, std::string_view) -> Status {
    SLUICE_LET(reader, read_key(key, space));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    const Keys keys(hash);
    SLUICE_LET(timed, read_timed_key(space, key));
    SLUICE_LET(job, job_at(keys, timed.job, key));
    if (!job) return {};
    const JobRecord& record = job->record;
    std::string right;
    if (space == Space::rest) {
      right = keys.rest(record.lane, record.since, timed.job);
    } else if (space == Space::expiry) {
      if (record.lane <= Lane::ready)
        right = keys.timed(space, record.shard, record.expires, timed.job);
    } else {
      const bool leased = space == Space::leased;
      if (record.lane == (leased ? Lane::leased : Lane::scheduled))
        right = keys.timed(space, record.shard, leased ? record.deadline : record.due, timed.job);
    }
    if (right != key) breach("I4", key, fmt::format("job \"{}\" does not belong here", record.id));
    return {};
  });
}

Status Verifier::check_payloads() {
  return each(Space::payload, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::payload));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    SLUICE_LET(mark, reader.mark());
    SLUICE_LET(n, reader.number<std::uint64_t>());
    SLUICE_LET(job, job_at(Keys(hash), Bytes16::of(mark), key));
    if (job && n >= job->record.chunk_count())
      breach("I5", key, "a part of a payload that its job does not know");
    return status_of(decode_chunk(value));
  });
}

Status Verifier::check_attempts() {
  return each(Space::attempt, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::attempt));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    SLUICE_LET(mark, reader.mark());
    SLUICE_LET(claim, reader.number<std::uint64_t>());
    SLUICE_LET(job, job_at(Keys(hash), Bytes16::of(mark), key));
    if (job && (claim == 0 || claim > job->record.claims))
      breach("I5", key, "an attempt under a claim that its job has not seen");
    return status_of(decode_attempt(value));
  });
}

}  // namespace sluice::queue
