// SPDX-License-Identifier: MIT
// The model's unique keys and dependencies.
#include <algorithm>
#include <tuple>

#include "tests/queue/model/model.h"

namespace sluice::queue::model {
namespace {

enum class Verdict { nothing, settled, cancel, orphan };

// What a finished job means to one that waits for it.
Verdict verdict_of(AfterPolicy policy, Ending ending) {
  if (ending == Ending::done || policy == AfterPolicy::end) return Verdict::settled;
  if (policy == AfterPolicy::cancel) return Verdict::cancel;
  return ending == Ending::lost ? Verdict::orphan : Verdict::nothing;
}

}  // namespace

// ----------------------------------------------------------------------------------- unique keys

// Null if nobody has it.
Key* Model::find_key(Queue& queue, const std::string& name) {
  const auto key = queue.keys.find(name);
  if (key == queue.keys.end()) return nullptr;
  const bool run_out = key->second.job == 0 && key->second.until <= now;
  return run_out ? nullptr : &key->second;
}

// With every move a job lets its key go, or takes it if that is free.
void Model::move_key(Queue& queue, Job& job, std::optional<Lane> to) {
  if (!job.unique) return;
  const bool wants = to && contains(job.unique->lanes, *to);
  if (wants == job.has_key) return;
  if (!wants) return give_key_back(queue, job);
  if (is_key_of_another(queue, job)) return;
  job.has_key = true;
  queue.keys[job.unique->key] = {
      .id = job.id, .job = job.number, .until = job.enqueued + in_ms(job.unique->window)};
}

void Model::give_key_back(Queue& queue, Job& job) {
  const std::string& name = job.unique->key;
  Key& key = queue.keys.at(name);
  job.has_key = false;
  key.job = 0;
  if (key.until <= now)
    queue.keys.erase(name);
  else
    queue.agenda[{.at = key.until, .kind = Note::free, .subject = name}] = {};
}

bool Model::is_key_of_another(Queue& queue, const Job& job) {
  const Key* key = find_key(queue, job.unique->key);
  return key != nullptr && key->id != job.id;
}

Model::KeyCheck Model::check_key(const NewJob& request, const Origin& origin) {
  const auto queue = queues_.find(request.queue);
  if (!request.unique || queue == queues_.end()) return {};
  const Key* key = find_key(queue->second, request.unique->key);
  if (key == nullptr) return {};
  if (request.unique->policy == UniquePolicy::keep) return {.kept_id = key->id};
  const KeyCheck taken{.code = Code::already_exists};
  if (request.unique->policy == UniquePolicy::reject || key->job == 0) return taken;
  const bool is_new = std::ranges::any_of(
      born_, [&](const JobRef& ref) { return ref.queue == request.queue && ref.id == key->id; });
  const bool is_acked =
      origin.acked && origin.acked->queue == request.queue && origin.acked->id == key->id;
  const Lane lane = queue->second.jobs.at(key->id).lane;
  if (is_new || is_acked || lane == Lane::leased) return taken;
  return {.replaces = key->job, .replaces_unfinished = lane < Lane::leased};
}

void Model::take_key_away(Queue& queue, const std::string& name) {
  const std::string id = queue.keys.at(name).id;
  queue.jobs.at(id).has_key = false;
  if (queue.jobs.at(id).lane < Lane::leased) to_cancel_.push_back({queue.name, id});
}

// The holders of keys that have new holders.
void Model::cancel_replaced() {
  for (const JobRef& ref : std::exchange(to_cancel_, {})) {
    Queue& queue = queues_[ref.queue];
    finish(queue, queue.jobs.at(ref.id), Lane::cancelled);
  }
}

// ---------------------------------------------------------------------------------- dependencies

Code Model::read_after(const std::string& queue, std::span<const After> after, const Origin& origin,
                       std::vector<Tie>& ties) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const After& one : after) {
    const JobRef ref{one.queue.empty() ? queue : one.queue, one.id};
    if (!seen.emplace(ref.queue, ref.id).second) return Code::invalid_argument;
    const bool acked =
        origin.acked && origin.acked->queue == ref.queue && origin.acked->id == ref.id;
    if (acked) continue;
    const Job* job = find(ref);
    if (job == nullptr) return Code::not_found;
    if (replaced_.contains(job->number)) return Code::conflict;
    const bool failed = job->lane > Lane::done;
    if (job->lane == Lane::done || (failed && one.policy == AfterPolicy::end)) continue;
    if (failed && one.policy == AfterPolicy::cancel) return Code::conflict;
    ties.push_back({.queue = ref.queue, .id = ref.id, .number = job->number, .policy = one.policy});
  }
  return Code::ok;
}

void Model::tie(Job& job, const std::vector<Tie>& ties) {
  for (const Tie& one : ties) {
    if (std::ranges::find(job.after, one.number, &Tie::number) != job.after.end()) continue;
    job.after.push_back(one);
    queues_[one.queue].jobs[one.id].waited_for = true;
    newly_waited_for_.insert(one.number);
  }
}

Code Model::add_after(const AddAfterRequest& request) {
  constexpr Lane kAllowed[] = {Lane::waiting, Lane::held};
  const Found found = find_job({request.queue, request.id}, kAllowed);
  if (found.job == nullptr) return found.code;
  std::vector<Tie> ties;
  if (const Code code = read_after(request.queue, request.after, {}, ties); code != Code::ok)
    return code;
  for (const Tie& one : ties)
    if (one.number >= found.job->number) return Code::invalid_argument;
  tie(*found.job, ties);
  return settled(Code::ok);
}

// In the order of policies, then by the hashes of the queues, then by ids.
void Model::release_dependants(const Release& release) {
  std::map<std::tuple<AfterPolicy, std::string, std::string>, JobRef> waiting;
  for (const auto& [name, queue] : queues_)
    for (const auto& [id, job] : queue.jobs)
      for (const Tie& tie : job.after)
        if (tie.number == release.number)
          waiting[{tie.policy, hash_of_name(name), id}] = {name, id};
  for (const auto& [order, ref] : waiting) {
    Queue& queue = queues_[ref.queue];
    Job& job = queue.jobs[ref.id];
    const Verdict verdict = verdict_of(std::get<0>(order), release.ending);
    if (verdict == Verdict::nothing) continue;
    std::erase_if(job.after, [&](const Tie& tie) { return tie.number == release.number; });
    if (verdict == Verdict::cancel) finish(queue, job, Lane::cancelled);
    if (verdict == Verdict::orphan) finish(queue, job, Lane::dead, DeathReason::orphaned);
    if (verdict == Verdict::settled && job.lane == Lane::waiting && job.after.empty())
      go_on(queue, job);
  }
}

bool Model::is_releasing(const Queue& queue, const Job& job) const {
  return std::ranges::any_of(queue.agenda, [&](const auto& note) {
    return note.first.kind == Note::release && note.first.number == job.number;
  });
}

}  // namespace sluice::queue::model
