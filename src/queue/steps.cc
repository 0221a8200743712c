// SPDX-License-Identifier: MIT
#include "queue/steps.h"

#include <fmt/format.h>

#include "base/check.h"
#include "codec/record.h"
#include "queue/after.h"
#include "queue/batch.h"
#include "queue/events.h"
#include "queue/group.h"
#include "queue/lanes.h"
#include "queue/names.h"

namespace sluice::queue {

Failure no_such_queue(std::string_view name) {
  return error(Code::not_found, fmt::format("there is no queue \"{}\"", name));
}

Failure no_such_job(std::string_view queue, std::string_view id) {
  return error(Code::not_found, fmt::format("queue \"{}\" has no job \"{}\"", queue, id));
}

Result<std::uint64_t> read_count(kv::Reader& reader, const std::string& key,
                                 kv::Isolation isolation) {
  SLUICE_LET(value, reader.get(key, isolation));
  SLUICE_LET(count, kv::decode_counter(value));
  if (count < 0) return error(Code::corrupt, "the count " + to_hex(key) + " is below zero");
  return static_cast<std::uint64_t>(count);
}

Result<std::optional<QueueRecord>> read_queue(kv::Reader& reader, std::string_view name) {
  SLUICE_LET(value, reader.get(Keys(hash_of(name)).queue()));
  if (!value) return std::optional<QueueRecord>();
  SLUICE_LET(record, decode_queue(*value));
  if (record.name != name)
    return error(Code::conflict,
                 fmt::format("the name \"{}\" cannot be told from \"{}\": choose another", name,
                             record.name));
  return std::optional(std::move(record));
}

Result<QueueRecord> read_queue_or_fail(kv::Reader& reader, std::string_view name) {
  SLUICE_TRY(check_name("queue name", name));
  SLUICE_LET(record, read_queue(reader, name));
  if (!record) return no_such_queue(name);
  return std::move(*record);
}

Result<StoredJob> decode_stored_job(std::string_view value, const Bytes16& number) {
  SLUICE_LET(parts, codec::split_mark(value));
  SLUICE_LET(record, decode_job(parts.record));
  const Bytes16 place = Bytes16::of(parts.mark);
  return StoredJob{.record = std::move(record), .place = place.zero() ? number : place};
}

Steps::Steps(Shared& shared, kv::Transaction& txn)
    : shared_(shared), txn_(txn), now_(to_millis(shared.store().now())) {}

Result<QueueState*> Steps::see_queue(std::string_view name) {
  if (const auto it = queues_.find(name); it != queues_.end()) return it->second.get();
  SLUICE_TRY(check_name("queue name", name));
  auto state = std::make_unique<QueueState>(hash_of(name));
  SLUICE_LET(record, read_queue(txn_, name));
  if (record) {
    state->record = std::move(*record);
    state->stored = true;
  } else {
    state->record.name = name;
    state->record.created = now_;
  }
  return queues_.emplace(name, std::move(state)).first->second.get();
}

Result<QueueState*> Steps::find_queue(std::string_view name) {
  SLUICE_LET(state, see_queue(name));
  return state->exists() ? state : nullptr;
}

Result<QueueState*> Steps::get_queue(std::string_view name) {
  SLUICE_LET(state, see_queue(name));
  if (!state->exists()) return no_such_queue(name);
  return state;
}

Result<QueueState*> Steps::make_queue(std::string_view name) {
  SLUICE_LET(state, see_queue(name));
  if (!state->exists()) state->changed = true;
  return state;
}

Result<GroupState*> Steps::get_group(QueueState& queue, std::string_view name) {
  if (const auto it = queue.groups_by_name.find(name); it != queue.groups_by_name.end())
    return it->second;
  SLUICE_LET(group, get_group(queue, hash_of(name)));
  if (group->stored || group->touched) {
    if (group->record.name != name)
      return error(Code::conflict,
                   fmt::format("the group \"{}\" cannot be told from \"{}\": choose another", name,
                               group->record.name));
  } else {
    group->record.name = name;
  }
  queue.groups_by_name.emplace(name, group);
  return group;
}

Result<GroupState*> Steps::get_group(QueueState& queue, const Bytes16& hash) {
  const auto [it, fresh] = queue.groups.try_emplace(hash);
  if (!fresh) return &it->second;
  it->second.hash = hash;
  SLUICE_LET(value, txn_.get(queue.keys.group(hash)));
  if (value) {
    SLUICE_LET(record, decode_group(*value));
    it->second.record = std::move(record);
    it->second.round_stored = it->second.record.round;
    it->second.stored = true;
  }
  return &it->second;
}

Result<std::optional<JobState>> Steps::find_job(QueueState& queue, const Bytes16& number) {
  if (placed(number))
    return error(Code::invalid_argument,
                 "this transaction has given the job a new place: use another for the next verb");
  // Made where it is returned: this is the most common read of all, and a record is large.
  Result<std::optional<JobState>> found;
  Status problem;
  SLUICE_TRY(txn_.visit(queue.keys.job(number), [&](std::string_view value) {
    const auto parts = codec::split_mark(value);
    if (!parts) {
      problem = parts.error();
      return;
    }
    JobState& job = found->emplace();
    job.queue = &queue;
    job.number = number;
    const Bytes16 place = Bytes16::of(parts->mark);
    job.place = place.zero() ? number : place;
    problem = decode_job_into(job.record, parts->record);
  }));
  SLUICE_TRY(problem);
  return found;
}

Result<JobState> Steps::get_job(std::string_view queue_name, std::string_view id) {
  SLUICE_TRY(check_name("job id", id));
  SLUICE_LET(queue, get_queue(queue_name));
  SLUICE_LET(value, txn_.get(queue->keys.id(id)));
  if (!value) return no_such_job(queue_name, id);
  if (value->size() != Bytes16::kSize)
    return error(Code::corrupt, fmt::format("the id \"{}\" does not lead to a job", id));
  SLUICE_LET(job, find_job(*queue, Bytes16::of(*value)));
  if (!job) return error(Code::corrupt, fmt::format("the id \"{}\" leads to no job", id));
  return std::move(*job);
}

bool Steps::add_new_id(const QueueState& queue, std::string_view id) {
  return new_ids_.try_emplace({queue.hash, std::string(id)}).second;
}

void Steps::forget_new_id(const QueueState& queue, std::string_view id) {
  new_ids_.erase({queue.hash, std::string(id)});
}

bool Steps::is_new_id(const QueueState& queue, std::string_view id) {
  if (new_ids_.contains({queue.hash, std::string(id)})) return true;
  // A generated id is not remembered: almost nobody asks for it.
  for (std::size_t i = 0; i < placements_.size(); ++i) {
    const auto* job = std::get_if<NewJobState>(&placements_[i]);
    if (job == nullptr || job->queue != &queue || job->record.id != id) continue;
    new_ids_[{queue.hash, std::string(id)}].placement = i;
    return true;
  }
  return false;
}

NewJobState& Steps::new_job(const QueueState& queue, std::string_view id) {
  const auto& known = new_ids_.at({queue.hash, std::string(id)});
  return std::get<NewJobState>(placements_.at(known.placement));
}

std::uint32_t Steps::ordinal_of(const QueueState& queue, std::string_view id) const {
  return new_ids_.at({queue.hash, std::string(id)}).ordinal;
}

void Steps::set_ordinal(const NewJobState& job, std::uint32_t ordinal) {
  if (new_ids_.empty()) return;
  const auto known = new_ids_.find({job.queue->hash, job.record.id});
  if (known != new_ids_.end()) known->second.ordinal = ordinal;
}

void Steps::place_later(NewJobState job) {
  if (!new_ids_.empty()) {
    const auto known = new_ids_.find({job.queue->hash, job.record.id});
    if (known != new_ids_.end()) known->second.placement = placements_.size();
  }
  placements_.emplace_back(std::move(job));
}

const JobState& Steps::placed_job(const Bytes16& number) const {
  for (const auto& placement : placements_)
    if (const auto* job = std::get_if<JobState>(&placement); job && job->number == number)
      return *job;
  SLUICE_CHECK(false);
}

void Steps::place_later(JobState job) {
  placed_.insert(job.number);
  placements_.emplace_back(std::move(job));
}

Status Steps::flush() {
  SLUICE_TRY(settle_releases(*this));
  for (auto& [name, queue] : queues_) SLUICE_TRY(settle_batches(*this, *queue));
  for (auto& placement : placements_)
    SLUICE_TRY(std::visit([&](auto& job) { return place_now(*this, job); }, placement));
  placements_.clear();
  for (auto& [name, queue] : queues_) SLUICE_TRY(flush_queue(*queue));
  return {};
}

Status Steps::flush_queue(QueueState& queue) {
  for (auto& [hash, group] : queue.groups)
    if (group.touched) SLUICE_TRY(flush_group(*this, queue, group));
  for (std::size_t lane = 1; lane <= kLaneCount; ++lane)
    if (queue.deltas[lane] != 0)
      txn_.add(queue.keys.count(static_cast<Lane>(lane)), queue.deltas[lane]);
  queue.deltas.fill(0);
  SLUICE_TRY(flush_events(*this, queue));
  if (queue.changed) {
    txn_.put(queue.keys.queue(), encode(queue.record));
    if (!queue.stored) txn_.put(queue_name_key(queue.record.name), "");
    queue.stored = true;
    queue.changed = false;
  }
  if (queue.ring) {
    txn_.ring(queue_bell(queue.hash));
    txn_.ring(kAnyQueueBell);
    queue.ring = false;
  }
  return {};
}

}  // namespace sluice::queue
