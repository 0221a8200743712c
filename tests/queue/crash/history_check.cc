// SPDX-License-Identifier: MIT
// What every history must satisfy.
#include <algorithm>
#include <map>
#include <set>

#include "tests/queue/crash/history.h"
#include "tests/queue/crash/workload.h"

namespace sluice::test {
namespace {

using queue::Lane;

std::vector<const Op*> answered_claims(const std::vector<Op>& ops) {
  std::vector<const Op*> claims;
  for (const Op& op : ops)
    if (op.verb == Verb::claim && op.ok()) claims.push_back(&op);
  return claims;
}

bool uses_lease(const Op& op) {
  return op.verb == Verb::ack || op.verb == Verb::fail || op.verb == Verb::release ||
         op.verb == Verb::extend;
}

// Until when the lease of `claim` lasts if nobody ends it, as far as that is sure.
Micros sure_until(const std::vector<Op>& ops, const Op& claim) {
  std::vector<const Op*> extends;
  for (const Op& op : ops)
    if (op.verb == Verb::extend && op.claim == claim.claim && op.maybe()) extends.push_back(&op);
  std::ranges::sort(extends, {}, &Op::begin);
  Micros until = claim.until;
  for (const Op* extend : extends)
    until = extend->open ? std::min(until, extend->begin + extend->span - 1'000) : extend->until;
  return until;
}

}  // namespace

std::vector<std::string> judge_tokens(const std::vector<Op>& ops) {
  std::vector<std::string> violations;
  std::set<std::string> numbers;
  for (const Op& op : ops)
    if (!op.number.empty()) numbers.insert(op.number);
  if (numbers.size() > 1) violations.emplace_back("it has more than one number");
  const std::vector<const Op*> claims = answered_claims(ops);
  for (const Op* a : claims)
    for (const Op* b : claims) {
      if (a < b && a->claim == b->claim)
        violations.push_back("the token of claim " + std::to_string(a->claim) +
                             " was handed out twice");
      if (a->end < b->begin && a->claim >= b->claim)
        violations.push_back("claim " + std::to_string(b->claim) + " came after claim " +
                             std::to_string(a->claim));
    }
  return violations;
}

std::vector<std::string> judge_deadlines(const std::vector<Op>& ops, Micros slack) {
  // The store keeps milliseconds.
  const Micros most = slack + 1'000;
  std::vector<std::string> violations;
  for (const Op& op : ops) {
    if (!op.ok() || (op.verb != Verb::claim && op.verb != Verb::extend)) continue;
    if (op.until < op.begin + op.span - most || op.until > op.end + op.span + most)
      violations.push_back("a deadline is not where it was asked for: " + op.to_string());
  }
  return violations;
}

std::vector<std::string> judge_total(const std::vector<Op>& ops) {
  std::vector<std::string> violations;
  std::uint64_t enqueued = 0;
  std::uint64_t accepted = 0;
  std::uint64_t revived = 0;
  bool asked_for = false;
  const Op* last = nullptr;
  for (const Op& op : ops) {
    if (op.verb == Verb::look && (last == nullptr || op.begin >= last->begin)) last = &op;
    asked_for = asked_for || (op.verb == Verb::enqueue && op.maybe());
    enqueued += op.verb == Verb::enqueue && op.ok() ? 1 : 0;
    accepted += op.verb == Verb::ack && op.ok() ? 1 : 0;
    revived += op.verb == Verb::requeue && op.maybe() ? 1 : 0;
  }
  const bool found = last != nullptr && last->code == Code::ok;
  if (enqueued > 1) violations.emplace_back("it was enqueued twice");
  if (found && !asked_for) violations.emplace_back("it is there, and nobody enqueued it");
  if (enqueued > 0 && !found) violations.emplace_back("it is lost");
  if (accepted > 1 + revived)
    violations.push_back(std::to_string(accepted) + " completions were accepted");
  if (found && last->lane != static_cast<std::uint8_t>(Lane::done) &&
      last->lane != static_cast<std::uint8_t>(Lane::dead) &&
      last->lane != static_cast<std::uint8_t>(Lane::cancelled))
    violations.emplace_back("it was not finished in the end");
  return violations;
}

std::vector<Hold> find_holds(const std::vector<Op>& ops, Micros slack) {
  std::vector<Hold> holds;
  for (const Op* claim : answered_claims(ops)) {
    Micros end = sure_until(ops, *claim) - slack;
    for (const Op& op : ops) {
      const bool by_worker = uses_lease(op) && op.verb != Verb::extend && op.claim == claim->claim;
      const bool by_operator =
          (op.verb == Verb::cancel || op.verb == Verb::break_lease) && op.end > claim->begin;
      if (op.maybe() && (by_worker || by_operator)) end = std::min(end, op.begin);
    }
    if (claim->end < end) holds.push_back({.begin = claim->end, .end = end});
  }
  return holds;
}

std::uint64_t count_overlap(const std::vector<Hold>& holds) {
  std::vector<std::pair<Micros, int>> changes;  // An end comes before a beginning.
  for (const Hold& hold : holds) {
    changes.emplace_back(hold.begin, 1);
    changes.emplace_back(hold.end, -1);
  }
  std::ranges::sort(changes);
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, now += change);
  return static_cast<std::uint64_t>(most);
}

namespace {

class HistoryJudge {
 public:
  HistoryJudge(const History& history, const Limits& limits)
      : history_(history), limits_(limits), slack_(history.offset_max - history.offset_min + 1) {}

  Judgement judge() {
    if (history_.offset_min > history_.offset_max)
      find("store time did not run evenly: it moved by " + std::to_string(1 - slack_) + " us");
    for (const auto& [key, job] : history_.jobs) judge_job(key, job.ops);
    for (const auto& [where, holds] : holds_) judge_limit(where, holds);
    return std::move(judgement_);
  }

 private:
  void find(const std::string& text) { judgement_.violations.push_back(text); }

  void judge_job(const JobKey& key, const std::vector<Op>& ops) {
    const Micros slack = std::max<Micros>(slack_, 0);
    std::vector<std::string> wrongs;
    for (const auto& part : {judge_tokens(ops), judge_deadlines(ops, slack), judge_total(ops)})
      wrongs.insert(wrongs.end(), part.begin(), part.end());
    const std::vector<Hold> holds = find_holds(ops, slack);
    if (count_overlap(holds) > 1) wrongs.emplace_back("two workers had it at the same time");
    const std::string group = job_of(key.first, key.second).group;
    for (const std::string& where : {std::string(), group}) {
      std::vector<Hold>& all = holds_[{key.first, where}];
      all.insert(all.end(), holds.begin(), holds.end());
      if (group.empty()) break;
    }
    const Search search = search_job(key, ops, slack);
    judgement_.steps_most = std::max(judgement_.steps_most, search.steps);
    if (search.verdict == Verdict::undecided) ++judgement_.undecided;
    if (search.verdict == Verdict::impossible) wrongs.emplace_back("no order explains it");
    if (wrongs.empty()) return;
    std::string text = std::string(1, key.first) + " " + key.second;
    for (const std::string& wrong : wrongs) text += "\n  " + wrong;
    for (const Op& op : ops) text += "\n    " + op.to_string();
    find(text);
  }

  Search search_job(const JobKey& key, std::vector<Op> ops, Micros slack) const {
    const Micros begin = std::ranges::min(ops, {}, &Op::begin).begin;
    const Micros end = std::ranges::max(ops, {}, &Op::end).end;
    for (const auto& [queue, op] : history_.open_claims)
      if ((queue == key.first || queue == '*') && op.end >= begin && op.begin <= end)
        ops.push_back(op);
    const queue::QueueConfig config = config_of(key.first);
    return search_order(std::move(ops),
                        {.attempts_max = config.retry.attempts_max,
                         .lapses_max = config.lapses_max,
                         .slack = slack},
                        limits_.steps_max);
  }

  void judge_limit(const std::pair<char, std::string>& where, const std::vector<Hold>& holds) {
    const auto limit = where.second.empty() ? config_of(where.first).active_max
                                            : limit_of(where.first, where.second);
    const std::uint64_t most = count_overlap(holds);
    if (limit && most > *limit)
      find(std::string(1, where.first) + " " + where.second + ": " + std::to_string(most) +
           " were active at once, the limit is " + std::to_string(*limit));
  }

  const History& history_;
  Limits limits_;
  Micros slack_;
  std::map<std::pair<char, std::string>, std::vector<Hold>> holds_;
  Judgement judgement_;
};

}  // namespace

Judgement judge_history(const History& history, const Limits& limits) {
  return HistoryJudge(history, limits).judge();
}

}  // namespace sluice::test
