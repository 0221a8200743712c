// SPDX-License-Identifier: MIT
#include "queue/unique.h"

#include <fmt/format.h>

#include "queue/lanes.h"

namespace sluice::queue {
namespace {

/// What comes before the job's number: nothing, if the key has no window.
std::string encode_holder(std::string_view id, Millis until) {
  if (until == 0) return {};
  return encode(NoteRecord{.id = std::string(id), .number = until});
}

/// What is stored under the key, which is at `at`.
Result<std::optional<KeyHolder>> read_holder(Steps& steps, std::string_view at) {
  std::optional<KeyHolder> holder;
  Status problem;
  SLUICE_TRY(steps.txn().visit(at, [&](std::string_view value) {
    auto decoded = decode_key_holder(value);
    if (decoded)
      holder = std::move(*decoded);
    else
      problem = decoded.error();
  }));
  SLUICE_TRY(problem);
  return holder;
}

/// Nobody holds the key any more, and its window is over.
bool has_run_out(const KeyHolder& holder, Millis now) {
  return holder.job.zero() && holder.until <= now;
}

/// Whether the job may take the key: nobody has it, or only the window that it left itself.
bool may_take(const std::optional<KeyHolder>& holder, const JobState& job, Millis now) {
  return !holder || has_run_out(*holder, now) ||
         (holder->job.zero() && holder->id == job.record.id);
}

void forget_window(Steps& steps, const QueueState& queue, std::string_view key, Millis until) {
  steps.txn().erase(queue.keys.agenda(until, Errand::free, key));
}

/// The id of the job that holds the key, or held it.
Result<std::string> id_of(Steps& steps, QueueState& queue, const KeyHolder& holder) {
  if (!holder.id.empty()) return holder.id;
  if (steps.placed(holder.job)) return steps.placed_job(holder.job).record.id;
  SLUICE_LET(job, steps.find_job(queue, holder.job));
  if (!job) return error(Code::corrupt, "a unique key is held by a job that does not exist");
  return job->record.id;
}

Failure taken(const QueueState& queue, std::string_view key, std::string_view id) {
  return error(Code::already_exists,
               fmt::format("the unique key \"{}\" of queue \"{}\" is taken by job \"{}\"", key,
                           queue.record.name, id));
}

/// What becomes of a new job whose key another one holds.
Status settle_with(Steps& steps, NewJobState& made, const Unique& unique, const KeyHolder& holder) {
  QueueState& queue = *made.queue;
  if (unique.policy == UniquePolicy::replace && !holder.job.zero()) {
    SLUICE_LET(job, steps.find_job(queue, holder.job));
    if (!job) return error(Code::corrupt, "a unique key is held by a job that does not exist");
    if (job->record.lane == Lane::leased) return taken(queue, unique.key, job->record.id);
    made.replaces = holder.job;
    if (job->record.lane < Lane::done) queue.replaced.insert(holder.job);
    return {};
  }
  SLUICE_LET(id, id_of(steps, queue, holder));
  if (unique.policy != UniquePolicy::keep) return taken(queue, unique.key, id);
  made.kept_id = id;
  return {};
}

bool lets_go_when_done(const JobState& job, Millis now) {
  const UniqueRecord& unique = *job.record.unique;
  const bool kept = job.queue->config().done_retention > Duration{} || job.record.waited_for;
  return unique.until <= now && !(kept && (unique.lanes & lane_bit(Lane::done)) != 0);
}

/// The key is nobody's any more, at once or at the end of its window.
void give_back(Steps& steps, const Keys& keys, std::string_view id, const UniqueRecord& unique) {
  if (unique.until <= steps.now()) {
    steps.txn().erase(keys.unique(unique.key));
    return;
  }
  std::string value = encode_holder(id, unique.until);
  value += Bytes16{}.view();
  steps.txn().put(keys.unique(unique.key), value);
  steps.txn().put(keys.agenda(unique.until, Errand::free, unique.key), "");
}

}  // namespace

Result<KeyHolder> decode_key_holder(std::string_view value) {
  if (value.size() < Bytes16::kSize) return error(Code::corrupt, "a unique key has no holder");
  KeyHolder holder{.job = Bytes16::of(value.substr(value.size() - Bytes16::kSize))};
  if (value.size() == Bytes16::kSize) return holder;
  SLUICE_LET(note, decode_note(value.substr(0, value.size() - Bytes16::kSize)));
  holder.id = note.id;
  holder.until = note.number;
  return holder;
}

Status accept_unique(Steps& steps, NewJobState& made, const Unique& unique,
                     const JobState* finishing) {
  QueueState& queue = *made.queue;
  const std::string at = queue.keys.unique(unique.key);
  if (const auto own = queue.new_keys.add(at, made.record.id); own.added) {
    made.unique_at = own.key;
  } else {
    if (unique.policy != UniquePolicy::keep) return taken(queue, unique.key, own.holder);
    made.kept_id = own.holder;
    return {};
  }
  SLUICE_LET(holder, read_holder(steps, at));
  const bool run_out = holder && has_run_out(*holder, steps.now());
  if (run_out) made.key_ran_out = holder->until;
  const bool given_back = holder && finishing != nullptr && finishing->queue == &queue &&
                          finishing->number == holder->job &&
                          lets_go_when_done(*finishing, steps.now());
  if (holder && !run_out && !given_back) SLUICE_TRY(settle_with(steps, made, unique, *holder));
  if (!made.kept_id.empty()) return {};
  UniqueRecord& record = made.record.unique.emplace();
  record.key = unique.key;
  for (const Lane lane : unique.lanes) record.lanes |= lane_bit(lane);
  if (unique.window > Duration{}) record.until = steps.now() + to_millis(unique.window);
  return {};
}

Status replace_holder(Steps& steps, const NewJobState& made) {
  if (!made.replaces) return {};
  SLUICE_LET(job, steps.find_job(*made.queue, *made.replaces));
  if (!job) return error(Code::corrupt, "the holder of a unique key is gone");
  job->record.unique->held = false;  // The new job writes over the entry.
  if (job->record.lane >= Lane::done) {
    rewrite(steps, *job);
    return {};
  }
  SLUICE_TRY(leave(steps, *job));
  return finish(steps, *job, Lane::cancelled);
}

void put_new_key(Steps& steps, NewJobState& job, std::uint32_t ordinal) {
  if (!job.record.unique) return;
  UniqueRecord& unique = *job.record.unique;
  if (job.key_ran_out > 0) forget_window(steps, *job.queue, unique.key, job.key_ran_out);
  unique.held = (unique.lanes & lane_bit(job.lane)) != 0;
  if (unique.held)
    steps.txn().put_stamped_value(job.unique_at, encode_holder(job.record.id, unique.until),
                                  ordinal);
  else
    give_back(steps, job.queue->keys, job.record.id, unique);
}

Status move_unique(Steps& steps, JobState& job, std::optional<Lane> to) {
  if (!job.record.unique) return {};
  UniqueRecord& unique = *job.record.unique;
  const bool wants = to && (unique.lanes & lane_bit(*to)) != 0;
  if (unique.held == wants) return {};
  if (!wants) {
    unique.held = false;
    give_back(steps, job.queue->keys, job.record.id, unique);
    return {};
  }
  const std::string at = job.queue->keys.unique(unique.key);
  if (!job.queue->new_keys.holder(at).empty()) return {};
  SLUICE_LET(holder, read_holder(steps, at));
  if (!may_take(holder, job, steps.now())) return {};
  if (holder) forget_window(steps, *job.queue, unique.key, holder->until);
  unique.held = true;
  std::string value = encode_holder(job.record.id, unique.until);
  value += job.number.view();
  steps.txn().put(at, value);
  return {};
}

Status check_key_free(Steps& steps, const JobState& job) {
  if (!job.record.unique) return {};
  const UniqueRecord& unique = *job.record.unique;
  if (unique.held || (unique.lanes & lane_bit(Lane::ready)) == 0) return {};
  const std::string at = job.queue->keys.unique(unique.key);
  const std::string_view own = job.queue->new_keys.holder(at);
  if (!own.empty()) return taken(*job.queue, unique.key, own);
  SLUICE_LET(holder, read_holder(steps, at));
  if (may_take(holder, job, steps.now())) return {};
  SLUICE_LET(id, id_of(steps, *job.queue, *holder));
  return taken(*job.queue, unique.key, id);
}

Status free_key(Steps& steps, QueueState& queue, std::string_view key, Millis at) {
  const std::string stored = queue.keys.unique(key);
  SLUICE_LET(holder, read_holder(steps, stored));
  // Meanwhile another job may have taken it, or the same one again.
  if (holder && has_run_out(*holder, at)) steps.txn().erase(stored);
  return {};
}

}  // namespace sluice::queue
