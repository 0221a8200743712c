// SPDX-License-Identifier: MIT
// The moves: how a job leaves a lane and enters another, with every entry that goes with it.
// Whatever a verb does, it does through these, so a job's entries cannot come apart.
#pragma once

#include <sluice/job.h>
#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

/// Where a job that becomes ready stands.
enum class Place : std::uint8_t {
  keep,   ///< Where it stood before.
  fresh,  ///< At the end of its priority, by this commit.
};

/// Takes the entries of the job's lane away. An enter() or an erase_job() must follow.
Status leave(Steps& steps, JobState& job);

/// Puts the job into `lane` and writes its record. The record holds already what the lane needs:
/// `due` for scheduled, `deadline` for leased. Sets `since` where it is needed.
Status enter(Steps& steps, JobState& job, Lane lane, Place place = Place::keep);

/// Writes the record of a job that stays in its lane.
void rewrite(Steps& steps, const JobState& job);

/// For Steps::flush(): what needs the commit's stamp. A new job's entries and its first lane; the
/// place of a job that entered `ready` afresh.
Status place_now(Steps& steps, NewJobState& job);
Status place_now(Steps& steps, JobState& job);

/// After leave(): the job is gone for good.
void erase_job(Steps& steps, JobState& job);

/// Finishes a job after leave(): into `lane` (done, dead, cancelled), or away if the queue does not
/// keep such jobs.
Status finish(Steps& steps, JobState& job, Lane lane);

/// Takes a finished job away for good. Whoever still waits for it learns that it is lost.
Status remove_finished(Steps& steps, JobState& job);

/// The whole payload. With a Transaction the chunks are read conflictingly.
Result<std::string> read_payload(kv::Reader& reader, const Keys& keys, const Bytes16& number,
                                 const JobRecord& record);
/// Puts another payload in place of the one that `record` tells of.
void replace_payload(Steps& steps, JobState& job, std::string_view payload);

/// Adds to the job's history how its present attempt ended. Before leave().
Status add_attempt(Steps& steps, JobState& job, Outcome outcome, std::string_view error);

}  // namespace sluice::queue
