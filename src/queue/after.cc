// SPDX-License-Identifier: MIT
#include "queue/after.h"

#include <fmt/format.h>

#include <set>

#include "queue/lanes.h"
#include "queue/names.h"
#include "queue/verbs.h"

namespace sluice::queue {
namespace {

Status check_after(std::span<const After> after) {
  if (after.size() > kAfterMax)
    return error(Code::invalid_argument,
                 fmt::format("{} jobs to wait for: {} is the most in one call; add more to a held "
                             "job with add_after",
                             after.size(), kAfterMax));
  for (const After& one : after) SLUICE_TRY(check_name("id of a job to wait for", one.id));
  return {};
}

/// The tie to a job that is stored; nothing if it is settled already.
Result<std::optional<Tie>> tie_to(Steps& steps, QueueState& queue, const After& one,
                                  const JobState* finishing) {
  std::optional<Tie> tie;
  if (!queue.exists()) return no_such_queue(queue.record.name);
  SLUICE_LET(value, steps.txn().get(queue.keys.id(one.id)));
  if (!value || value->size() != Bytes16::kSize)
    return error(Code::not_found,
                 fmt::format("queue \"{}\" has no job \"{}\" to wait for: enqueue it first, and "
                             "keep it with done_retention",
                             queue.record.name, one.id));
  const Bytes16 number = Bytes16::of(*value);
  if (finishing != nullptr && finishing->queue == &queue && finishing->number == number) return tie;
  if (queue.replaced.contains(number))
    return error(Code::conflict,
                 fmt::format("the job to wait for \"{}\" is being replaced", one.id));
  SLUICE_LET(job, steps.find_job(queue, number));
  if (!job) return error(Code::corrupt, fmt::format("the id \"{}\" leads to no job", one.id));
  const Lane lane = job->record.lane;
  if (lane == Lane::done) return tie;
  if (lane > Lane::done && one.policy == AfterPolicy::end) return tie;
  if (lane > Lane::done && one.policy == AfterPolicy::cancel)
    return error(Code::conflict, fmt::format("the job to wait for \"{}\" is {}, so this one would "
                                             "be cancelled at once",
                                             one.id, lane_name(lane)));
  tie = {.queue = &queue, .id = one.id, .number = number, .policy = one.policy};
  return tie;
}

Status mark_waited_for(Steps& steps, const Tie& tie) {
  steps.newly_waited_for().insert(*tie.number);
  SLUICE_LET(job, steps.find_job(*tie.queue, *tie.number));
  if (!job) return error(Code::corrupt, "a job to wait for is gone");
  if (job->record.waited_for) return {};
  job->record.waited_for = true;
  rewrite(steps, *job);
  return {};
}

TieRecord waiting_side(const Tie& tie) {
  return {.queue = tie.queue->record.name, .id = tie.id, .policy = tie.policy, .token = tie.token};
}

}  // namespace

Result<std::vector<Tie>> accept_after(Steps& steps, QueueState& own, std::string_view id,
                                      std::span<const After> after, const JobState* finishing) {
  SLUICE_TRY(check_after(after));
  std::vector<Tie> ties;
  std::set<std::pair<QueueState*, std::string_view>> seen;
  for (const After& one : after) {
    SLUICE_LET(queue, steps.see_queue(one.queue.empty() ? own.record.name : one.queue));
    if (!seen.emplace(queue, one.id).second)
      return error(Code::invalid_argument,
                   fmt::format("the job to wait for \"{}\" is named twice", one.id));
    const bool itself = queue == &own && one.id == id;
    std::optional<Tie> tie;
    if (!itself && steps.is_new_id(*queue, one.id)) {
      tie = {.queue = queue, .id = one.id, .policy = one.policy};
    } else {
      SLUICE_LET(stored, tie_to(steps, *queue, one, finishing));
      tie = std::move(stored);
    }
    if (!tie) continue;
    tie->token = steps.shared().draw_below(UINT64_MAX);
    ties.push_back(std::move(*tie));
  }
  return ties;
}

Status admit_ties(Steps& steps, const NewJobState& job) {
  for (const Tie& tie : job.ties) {
    if (!tie.number)
      steps.new_job(*tie.queue, tie.id).record.waited_for = true;
    else
      SLUICE_TRY(mark_waited_for(steps, tie));
  }
  return {};
}

void put_ties(Steps& steps, const NewJobState& job, std::uint32_t ordinal) {
  kv::Transaction& txn = steps.txn();
  if (job.ties.empty()) return;
  for (const Tie& tie : job.ties) {
    const auto key = job.queue->keys.new_after(tie.queue->hash, hash_of(tie.id));
    txn.put_stamped_key(key.prefix, ordinal, key.suffix, encode(waiting_side(tie)));
    const std::string value = encode(TieRecord{.queue = job.queue->record.name,
                                               .id = job.record.id,
                                               .policy = tie.policy,
                                               .token = tie.token});
    const Keys& keys = tie.queue->keys;
    if (tie.number) {
      txn.put(keys.dependant(*tie.number, tie.policy, job.queue->hash, job.record.id), value);
    } else {
      const auto other = keys.new_dependant(tie.policy, job.queue->hash, job.record.id);
      txn.put_stamped_key(other.prefix, steps.ordinal_of(*tie.queue, tie.id), other.suffix, value);
    }
  }
}

Status add_after(Steps& steps, const AddAfterRequest& request) {
  SLUICE_LET(job, steps.get_job(request.queue, request.id));
  if (job.record.lane != Lane::waiting && job.record.lane != Lane::held)
    return wrong_lane("add_after", job);
  const auto younger = [&](std::string_view id) {
    return error(Code::invalid_argument,
                 fmt::format("job \"{}\" was enqueued after \"{}\", which therefore cannot wait "
                             "for it",
                             id, request.id));
  };
  SLUICE_LET(ties, accept_after(steps, *job.queue, {}, request.after, nullptr));
  for (const Tie& tie : ties)
    if (!tie.number || *tie.number >= job.number) return younger(tie.id);
  for (const Tie& tie : ties) {
    const std::string own = job.queue->keys.after(job.number, tie.queue->hash, hash_of(tie.id));
    SLUICE_LET(there, steps.txn().visit(own, [](std::string_view) {}));
    if (there) continue;
    SLUICE_TRY(mark_waited_for(steps, tie));
    steps.txn().put(own, encode(waiting_side(tie)));
    steps.txn().put(
        tie.queue->keys.dependant(*tie.number, tie.policy, job.queue->hash, job.record.id),
        encode(TieRecord{.queue = job.queue->record.name,
                         .id = job.record.id,
                         .policy = tie.policy,
                         .token = tie.token}));
    job.record.waits = true;
  }
  rewrite(steps, job);
  return {};
}

Status stop_waiting(Steps& steps, JobState& job) {
  if (!job.record.waits) return {};
  job.record.waits = false;
  steps.txn().erase_range(job.queue->keys.afters(job.number));
  return {};
}

}  // namespace sluice::queue
