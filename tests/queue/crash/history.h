// SPDX-License-Identifier: MIT
// What many processes did to one store at the same time, job by job, and whether the queues can
// have done that.
//
// Each process notes its calls (notes.h). Jobs are independent of each other, so the calls that
// meet one job are a history of their own, short enough to be searched exhaustively for an order
// that a queue could have served them in. A call without an answer may have happened or not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/queue/crash/notes.h"
#include "tests/queue/crash/seen.h"

namespace sluice::test {

/// All times here are microseconds of MonoTime; store time is converted.
using Micros = std::int64_t;

/// What one call meant for one job.
struct Op {
  Verb verb = Verb::look;
  Micros begin = 0;
  Micros end = 0;  ///< Of a call without an answer: when its process was surely dead.
  bool open = false;
  Code code = Code::ok;
  std::string number = {};     ///< Of the job, if the call had a token.
  std::uint64_t claim = 0;     ///< Of the token; answered by look: how many.
  Micros until = 0;            ///< Answered by claim and extend.
  Micros span = 0;             ///< Lease of claim and extend, delay of enqueue, fail and release.
  bool dead = false;           ///< Of a fail.
  std::uint8_t lane = 0;       ///< Answered by look.
  std::uint32_t attempts = 0;  ///< Answered by claim and look.
  std::uint32_t lapses = 0;    ///< Answered by look.

  bool ok() const { return !open && code == Code::ok; }
  /// Whether it happened or may have.
  bool maybe() const { return open || code == Code::ok; }
  std::string to_string() const;
};

/// The rules of the job's queue.
struct JobRules {
  std::uint32_t attempts_max = UINT32_MAX;
  std::uint32_t lapses_max = UINT32_MAX;
  /// How far apart two clocks may be that show the same instant.
  Micros slack = 0;
};

enum class Verdict : std::uint8_t { possible, impossible, undecided };

struct Search {
  Verdict verdict = Verdict::possible;
  std::uint64_t steps = 0;
};

/// Looks for an order of the ops that respects their intervals and the rules of one job: {absent,
/// waiting(due), leased(claim, until), done, dead, cancelled}. A lease ends by itself only at
/// `until` or later. Gives up after `steps_max` steps.
Search search_order(std::vector<Op> ops, const JobRules& rules, std::uint64_t steps_max);

/// The notes of one process.
struct ClientLog {
  std::vector<Note> notes = {};
  Micros died = 0;  ///< By then it was surely dead.
};

struct JobHistory {
  std::vector<Op> ops = {};
};

struct History {
  std::map<JobKey, JobHistory> jobs = {};
  /// Claims without an answer: nobody knows what they got. Each may have met each job of its queue
  /// ('*': of any).
  std::vector<std::pair<char, Op>> open_claims = {};
  std::uint64_t calls = 0;
  /// The difference between store time and MonoTime is known to be between these two.
  Micros offset_min = INT64_MIN;
  Micros offset_max = INT64_MAX;
};

/// Puts the logs together, and what was found at `looked` when all processes had ended.
History make_history(const std::vector<ClientLog>& logs, const Sight& found, Micros looked);

struct Judgement {
  std::vector<std::string> violations = {};
  std::uint64_t undecided = 0;
  std::uint64_t steps_most = 0;  ///< The longest search.
};

struct Limits {
  std::uint64_t steps_max = 2'000'000;
};

/// Everything there is to check.
Judgement judge_history(const History& history, const Limits& limits = {});

// The parts of it.

/// Tokens of a job are all different, are of one job number, and increase from claim to claim.
std::vector<std::string> judge_tokens(const std::vector<Op>& ops);
/// The answered deadlines are where the lease that was asked for ends.
std::vector<std::string> judge_deadlines(const std::vector<Op>& ops, Micros slack);
/// What was enqueued is there in the end and finished, and no completion was accepted twice.
std::vector<std::string> judge_total(const std::vector<Op>& ops);

/// A time in which somebody surely held a lease: from the answer of its claim to the first call
/// that may have ended it, or to its deadline.
struct Hold {
  Micros begin = 0;
  Micros end = 0;
};
std::vector<Hold> find_holds(const std::vector<Op>& ops, Micros slack);
/// The most that overlap at one instant.
std::uint64_t count_overlap(const std::vector<Hold>& holds);

}  // namespace sluice::test
