// SPDX-License-Identifier: MIT
// What a job that has finished means to those that wait for it.
#include <algorithm>

#include "queue/after.h"
#include "queue/lanes.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

/// What an ending means under a policy.
enum class Verdict : std::uint8_t { nothing, settled, cancel, orphan };

Verdict verdict_of(AfterPolicy policy, Ending ending) {
  if (ending == Ending::done || policy == AfterPolicy::end) return Verdict::settled;
  if (policy == AfterPolicy::cancel) return Verdict::cancel;
  return ending == Ending::lost ? Verdict::orphan : Verdict::nothing;
}

/// The job that waits, if the tie is still there; its own side of it is then gone.
Result<std::optional<JobState>> take_tie(Steps& steps, const Release& release,
                                         const TieRecord& value) {
  std::optional<JobState> none;
  SLUICE_LET(queue, steps.find_queue(value.queue));
  if (queue == nullptr) return none;
  SLUICE_LET(number, steps.txn().get(queue->keys.id(value.id)));
  if (!number || number->size() != Bytes16::kSize) return none;
  const Bytes16 waiting = Bytes16::of(*number);
  const std::string key = queue->keys.after(waiting, release.queue->hash, hash_of(release.id));
  SLUICE_LET(entry, steps.txn().get(key));
  if (!entry) return none;
  SLUICE_LET(own, decode_tie(*entry));
  if (own.token != value.token) return none;
  steps.txn().erase(key);
  SLUICE_LET(job, steps.find_job(*queue, waiting));
  return job;
}

/// One of the job's ties is settled: if it was the last one, the job goes on.
Status go_on(Steps& steps, JobState& job) {
  SLUICE_LET(rest, steps.txn().scan(job.queue->keys.afters(job.number), {.limit = 1}));
  if (!rest.empty()) return {};
  SLUICE_TRY(stop_waiting(steps, job));
  if (job.record.lane == Lane::held) {
    rewrite(steps, job);
    return {};
  }
  SLUICE_TRY(leave(steps, job));
  if (job.record.due > steps.now()) return enter(steps, job, Lane::scheduled);
  return enter(steps, job, Lane::ready, Place::fresh);
}

Status settle(Steps& steps, JobState& job, Verdict verdict, const Release& release) {
  if (verdict == Verdict::settled) return go_on(steps, job);
  SLUICE_TRY(leave(steps, job));
  job.record.error = cut_text(release.id + ", which it waited for, did not succeed", kTextBytesMax);
  if (verdict == Verdict::cancel) return finish(steps, job, Lane::cancelled);
  job.record.reason = DeathReason::orphaned;
  return finish(steps, job, Lane::dead);
}

}  // namespace

Result<bool> settle_some(Steps& steps, const Release& release, std::size_t ties_max,
                         std::size_t& settled) {
  const Keys& keys = release.queue->keys;
  for (const AfterPolicy policy : {AfterPolicy::success, AfterPolicy::end, AfterPolicy::cancel}) {
    const Verdict verdict = verdict_of(policy, release.ending);
    if (verdict == Verdict::nothing) continue;
    const std::size_t left = ties_max - std::min(ties_max, settled);
    SLUICE_LET(entries,
               steps.txn().scan(keys.dependants(release.number, policy), {.limit = left + 1}));
    const bool all = entries.size() <= left;
    if (!all) entries.pop_back();
    for (const auto& entry : entries) {
      ++settled;
      steps.txn().erase(entry.key);
      SLUICE_LET(value, decode_tie(entry.value));
      SLUICE_LET(job, take_tie(steps, release, value));
      if (job) SLUICE_TRY(settle(steps, *job, verdict, release));
    }
    if (!all) return false;
  }
  return true;
}

Status settle_releases(Steps& steps) {
  std::size_t settled = 0;
  // A job that is cancelled here adds to the list, and so on: hence no recursion.
  for (auto releases = steps.take_releases(); !releases.empty(); releases = steps.take_releases()) {
    for (const Release& release : releases) {
      bool through = false;
      if (!steps.newly_waited_for().contains(release.number)) {
        SLUICE_LET(done, settle_some(steps, release, kReleasesMax, settled));
        through = done;
      }
      if (through) continue;
      steps.txn().put(
          release.queue->keys.agenda(release.at, Errand::release, release.number.view()),
          encode_release(release));
      release.queue->ring = true;
    }
  }
  return {};
}

std::string encode_release(const Release& release) {
  return encode(NoteRecord{.id = release.id, .number = static_cast<std::uint64_t>(release.ending)});
}

Result<Release> decode_release(QueueState& queue, std::string_view subject,
                               std::string_view value) {
  SLUICE_LET(note, decode_note(value));
  if (subject.size() != Bytes16::kSize || note.number < 1 || note.number > 3)
    return error(Code::corrupt, "a release on the agenda makes no sense");
  return Release{.queue = &queue,
                 .number = Bytes16::of(subject),
                 .id = note.id,
                 .ending = static_cast<Ending>(note.number)};
}

}  // namespace sluice::queue
