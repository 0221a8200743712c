// SPDX-License-Identifier: MIT
// I10 and I11: unique keys and dependencies.
#include <fmt/format.h>

#include "queue/agenda.h"
#include "queue/names.h"
#include "queue/unique.h"
#include "queue/verify/check.h"

namespace sluice::queue {

Status Verifier::check_job_flows(const Keys& keys, const QueueCheck& queue, const Bytes16& number,
                                 const JobRecord& record) {
  const auto wrong = [&](std::string_view invariant, std::string_view what) {
    breach(invariant, keys.job(number), fmt::format("job \"{}\": {}", record.id, what));
  };
  if (record.unique && record.unique->held) {
    const UniqueRecord& unique = *record.unique;
    SLUICE_LET(value, reader_.get(keys.unique(unique.key)));
    const auto holder = value ? decode_key_holder(*value) : Result<KeyHolder>(KeyHolder{});
    if (holder && holder->job != number) wrong("I10", "its unique key is another's, or nobody's");
    if ((unique.lanes & lane_bit(record.lane)) == 0)
      wrong("I10", "it holds a unique key in a lane that was not declared");
  }
  SLUICE_LET(after, reader_.scan(keys.afters(number), {.limit = 1}));
  if (record.waits == after.empty()) wrong("I11", "it does not know whether it waits for others");
  if (record.lane == Lane::waiting ? !record.waits : record.waits && record.lane != Lane::held)
    wrong("I11", "it is in a lane that does not fit whether it waits for others");
  if (record.batch.empty() || record.lane >= Lane::done) return {};
  const auto batch = queue.batches.find(record.batch);
  if (batch == queue.batches.end() || batch->second.record.ended > 0) {
    wrong("I12", "its batch is over, or was never there");
    return {};
  }
  SLUICE_LET(member, there(keys.member(record.batch, number)));
  if (!member) wrong("I12", "its batch does not know it");
  return {};
}

Status Verifier::check_unique_keys() {
  return each(Space::unique, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::unique));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    const Keys keys(hash);
    SLUICE_LET(name, reader.string());
    SLUICE_TRY(reader.finish());
    SLUICE_LET(holder, decode_key_holder(value));
    if (holder.job.zero()) {
      SLUICE_LET(noted, there(keys.agenda(holder.until, Errand::free, name)));
      if (!noted) breach("I10", key, "a unique key that nobody holds is never given back");
      return {};
    }
    SLUICE_LET(job, job_at(keys, holder.job, key));
    if (!job) return {};
    const auto& unique = job->record.unique;
    if (!unique || !unique->held || unique->key != name ||
        (!holder.id.empty() && job->record.id != holder.id) || unique->until != holder.until)
      breach("I10", key, fmt::format("job \"{}\" does not hold this key", job->record.id));
    return {};
  });
}

/// Each wait leads to a job that knows of it, and that can still settle it.
Status Verifier::check_waits() {
  return each(Space::after, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::after));
    Bytes16 hash;
    QueueCheck* queue = queue_of(reader, key, &hash);
    if (queue == nullptr) return {};
    SLUICE_LET(mark, reader.mark());
    const Bytes16 number = Bytes16::of(mark);
    SLUICE_LET(other_queue, reader.mark());
    SLUICE_LET(other_id, reader.mark());
    SLUICE_TRY(reader.finish());
    SLUICE_LET(tie, decode_tie(value));
    if (hash_of(tie.queue) != Bytes16::of(other_queue) || hash_of(tie.id) != Bytes16::of(other_id))
      breach("I11", key, "a wait names another job than its key");
    SLUICE_LET(job, job_at(Keys(hash), number, key));
    if (!job) return {};
    if (!job->record.waits)
      breach("I11", key, fmt::format("job \"{}\" does not wait for anything", job->record.id));
    return check_waited_for(key, tie, queue->record.name, job->record.id, number);
  });
}

Status Verifier::check_waited_for(std::string_view key, const TieRecord& tie,
                                  const std::string& queue, const std::string& id,
                                  const Bytes16& number) {
  const Bytes16 other_hash = hash_of(tie.queue);
  const Keys keys(other_hash);
  const auto dependant = [&](const Bytes16& other) {
    return reader_.get(keys.dependant(other, tie.policy, hash_of(queue), id));
  };
  SLUICE_LET(value, reader_.get(keys.id(tie.id)));
  Bytes16 other = value && value->size() == Bytes16::kSize ? Bytes16::of(*value) : Bytes16{};
  SLUICE_LET(entry, dependant(other));
  // It may be gone, and another have its id: then its release is still to come.
  if (const auto release = releases_by_id_.find({other_hash, tie.id});
      !entry && release != releases_by_id_.end()) {
    other = release->second;
    SLUICE_LET(releasing, dependant(other));
    entry = releasing;
  }
  if (!entry) {
    breach("I11", key,
           fmt::format("job \"{}\" does not know that \"{}\" waits for it", tie.id, id));
    return {};
  }
  SLUICE_LET(back, decode_tie(*entry));
  if (back.token != tie.token || back.policy != tie.policy)
    breach("I11", key, fmt::format("the two sides of a wait for \"{}\" differ", tie.id));
  if (!(other < number)) breach("I11", key, "a job waits for one that came later");
  if (releases_.contains({other_hash, other})) return {};
  SLUICE_LET(stored, job_at(keys, other, key));
  if (!stored) return {};
  const Lane lane = stored->record.lane;
  if (!stored->record.waited_for) breach("I11", key, "a job does not know that it is waited for");
  if (lane == Lane::done || (lane > Lane::done && tie.policy != AfterPolicy::success))
    breach("I11", key, fmt::format("job \"{}\" waits for \"{}\", which has finished", id, tie.id));
  return {};
}

Status Verifier::check_dependants() {
  return each(Space::dependant, [&](std::string_view key, std::string_view value) -> Status {
    SLUICE_LET(reader, read_key(key, Space::dependant));
    Bytes16 hash;
    if (queue_of(reader, key, &hash) == nullptr) return {};
    SLUICE_LET(mark, reader.mark());
    const Bytes16 number = Bytes16::of(mark);
    SLUICE_LET(policy, reader.number<std::uint8_t>());
    SLUICE_LET(queue, reader.mark());
    const Bytes16 waiting_queue = Bytes16::of(queue);
    SLUICE_LET(id, reader.string());
    SLUICE_TRY(reader.finish());
    SLUICE_LET(tie, decode_tie(value));
    if (hash_of(tie.queue) != waiting_queue || tie.id != id ||
        static_cast<std::uint8_t>(tie.policy) != policy)
      breach("I11", key, "a dependant is another than its key says");
    if (releases_.contains({hash, number})) return {};
    SLUICE_LET(job, job_at(Keys(hash), number, key));
    if (job && (job->record.lane == Lane::done || !job->record.waited_for))
      breach("I11", key, fmt::format("nobody waits for job \"{}\" any more", job->record.id));
    return {};
  });
}

}  // namespace sluice::queue
