// SPDX-License-Identifier: MIT
// Judges, from outside, what a killed process left: from what it said about its calls (notes) and
// what is in the store now. What was acknowledged must be there; what was in flight may be.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/queue/crash/notes.h"
#include "tests/queue/crash/seen.h"

namespace sluice::test {

struct Breach {
  enum class Kind : std::uint8_t {
    lost,     ///< Something acknowledged is not there.
    doubled,  ///< Something was accepted twice, or is there that nobody asked for, or came back.
    other,    ///< A half of something, a limit exceeded, a code that does not belong there.
  };
  Kind kind = Kind::other;
  std::string text = {};
};

/// Whether a job in it is through, for good or until somebody requeues it.
inline bool is_finished(queue::Lane lane) {
  using enum queue::Lane;
  return lane == done || lane == dead || lane == cancelled;
}

/// What happened to one job between two looks, in the order in which it was said.
struct Event {
  Verb verb = Verb::enqueue;
  std::string token = {};
  std::string operation = {};
  bool dead = false;           ///< A fail for good.
  bool child = false;          ///< An enqueue that was part of the ack under `token`.
  bool repeated = false;       ///< The process before made the same call, but saw no answer.
  bool answered = false;       ///< Otherwise it may have happened or not.
  Code code = Code::ok;        ///< Of the answer.
  std::size_t begin = 0;       ///< The place of the note before the call.
  std::size_t end = SIZE_MAX;  ///< The place of the answer.

  bool ok() const { return answered && code == Code::ok; }
  bool maybe() const { return !answered || code == Code::ok; }
};

/// All that is known of one job. It has one life: nobody uses its id again.
struct JobTruth {
  std::optional<Seen> last = {};  ///< As the last look found it.
  bool gone = false;              ///< It was there, and left for good.
  std::string number = {};
  std::string operation = {};         ///< That enqueued it.
  std::set<std::string> tokens = {};  ///< Handed out.
  /// Tokens whose ack was accepted, and the operation id of that call if it was surely that one.
  std::map<std::string, std::string> accepted = {};
  bool acked = false;          ///< Its enqueue was acknowledged.
  std::uint64_t revivals = 0;  ///< Requeues that may have happened.

  /// Whether it certainly was enqueued.
  bool existed() const { return last || gone; }
};

/// Judges one job and brings its truth up to date.
std::vector<Breach> judge_job(const JobKey& key, JobTruth& truth, const std::vector<Event>& events,
                              const std::optional<Seen>& now);

/// Not thread-safe.
class Oracle {
 public:
  /// After a kill: all notes of the killed process, and the store as it is now.
  std::vector<Breach> judge(const std::vector<Note>& notes, const Sight& now);
  /// The notes of calls with an operation id that had no answer (enqueue, claim and ack): the next
  /// process makes them again.
  const std::vector<Note>& pending() const { return pending_; }

  /// After the drain role: `claimed` is what it said it acked. Every job is still there, finished;
  /// those that were not finished before were acked once, or died of an old reason.
  std::vector<Breach> judge_drain(const std::vector<JobKey>& claimed, const Sight& now) const;
  /// Everything was purged.
  void forget();

  /// Jobs whose enqueue was acknowledged, and completions that were accepted, since the beginning.
  std::uint64_t jobs_acked() const { return jobs_acked_; }
  std::uint64_t completions() const { return completions_; }

 private:
  std::map<JobKey, JobTruth> truths_;
  std::vector<Note> pending_;
  std::uint64_t jobs_acked_ = 0;
  std::uint64_t completions_ = 0;
};

}  // namespace sluice::test
