// SPDX-License-Identifier: MIT
// From notes to histories.
#include "tests/queue/crash/history.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <utility>

#include "tests/queue/crash/workload.h"

namespace sluice::test {
namespace {

Micros to_micros(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

// A call of one process: what it asked, and what it was answered so far.
struct PastCall {
  std::vector<Note> asked = {};
  std::vector<std::optional<Note>> answers = {};  // One per item asked.
  std::vector<Note> leases = {};                  // Of a claim.
};

void add_answer(PastCall& call, const Note& note) {
  if (note.verb == Verb::claim && !note.id.empty()) {
    call.leases.push_back(note);
    return;
  }
  for (std::size_t i = 0; i < call.asked.size(); ++i) {
    const Note& asked = call.asked[i];
    if (call.answers[i] || asked.queue != note.queue || asked.id != note.id ||
        asked.token != note.token)
      continue;
    call.answers[i] = note;
    return;
  }
}

Op op_of(const Note& asked, const std::optional<Note>& answer, Micros died) {
  const Note& last = answer ? *answer : asked;
  Op op{.verb = asked.verb,
        .begin = asked.stamp_us,
        .end = answer ? answer->stamp_us : died,
        .open = !answer,
        .code = last.code,
        .until = last.until_ms * 1'000,
        .span = asked.span_ms * 1'000,
        .dead = asked.dead,
        .lane = last.lane,
        .attempts = last.attempts,
        .lapses = last.lapses};
  op.claim = last.claims;
  if (!last.token.empty()) {
    op.number = last.token.substr(0, 32);
    op.claim = std::stoull(last.token.substr(32), nullptr, 16);
  }
  if (op.verb == Verb::enqueue) op.span = to_micros(job_of(asked.queue, asked.id).delay);
  return op;
}

class Maker {
 public:
  explicit Maker(History& history) : history_(history) {}

  void add_log(const ClientLog& log) {
    std::map<std::pair<unsigned, std::uint64_t>, PastCall> calls;
    for (const Note& note : log.notes) {
      PastCall& call = calls[{note.thread, note.call}];
      if (note.answer) {
        add_answer(call, note);
      } else {
        call.asked.push_back(note);
        call.answers.emplace_back();
      }
    }
    for (const auto& [at, call] : calls) add_call(call, log.died);
  }

 private:
  void add_call(const PastCall& call, Micros died) {
    ++history_.calls;
    const Note& first = call.asked[0];
    if (first.verb == Verb::time) return add_time(call);
    if (first.verb == Verb::claim) return add_claim(call, died);
    for (std::size_t i = 0; i < call.asked.size(); ++i) {
      const Note& asked = call.asked[i];
      const Op op = op_of(asked, call.answers[i], died);
      add({asked.queue, asked.id}, op);
      if (op.verb != Verb::ack) continue;
      for (const std::string& child : children_of(asked.token)) add_child(asked, child, op);
    }
  }

  // An ack that is refused does not try to enqueue anything.
  void add_child(const Note& ack, const std::string& id, Op op) {
    if (!op.maybe()) return;
    op.verb = Verb::enqueue;
    op.number.clear();
    op.claim = 0;
    op.span = to_micros(job_of(ack.queue, id).delay);
    add({ack.queue, id}, op);
  }

  void add_claim(const PastCall& call, Micros died) {
    const Note& asked = call.asked[0];
    for (const Note& lease : call.leases) add({lease.queue, lease.id}, op_of(asked, lease, died));
    if (!call.answers[0])
      history_.open_claims.emplace_back(asked.queue, op_of(asked, std::nullopt, died));
  }

  void add_time(const PastCall& call) {
    if (!call.answers[0]) return;
    const Micros store = call.answers[0]->store_us;
    history_.offset_min = std::max(history_.offset_min, store - call.answers[0]->stamp_us);
    history_.offset_max = std::min(history_.offset_max, store - call.asked[0].stamp_us);
  }

  void add(const JobKey& key, const Op& op) { history_.jobs[key].ops.push_back(op); }

  History& history_;
};

}  // namespace

std::string Op::to_string() const {
  std::ostringstream text;
  text << begin << " to " << end << " " << verb_name(verb) << " "
       << (open ? "(no answer)" : code_name(code));
  if (claim != 0) text << " claim " << claim;
  if (until != 0) text << " until " << until;
  if (span != 0) text << " span " << span;
  if (dead) text << " dead";
  if (lane != 0) text << " " << lane_name(static_cast<queue::Lane>(lane));
  if (attempts != 0) text << " attempts " << attempts;
  if (lapses != 0) text << " lapses " << lapses;
  return text.str();
}

History make_history(const std::vector<ClientLog>& logs, const Sight& found, Micros looked) {
  History history;
  Maker maker(history);
  for (const ClientLog& log : logs) maker.add_log(log);
  for (const auto& [key, seen] : found) history.jobs[key];
  for (auto& [key, job] : history.jobs) {
    Op look{.verb = Verb::look, .begin = looked, .end = looked, .code = Code::not_found};
    if (const auto seen = found.find(key); seen != found.end()) {
      look.code = Code::ok;
      look.number = seen->second.number;
      look.claim = seen->second.claims;
      look.lane = static_cast<std::uint8_t>(seen->second.lane);
      look.attempts = seen->second.attempts;
      look.lapses = seen->second.lapses;
    }
    job.ops.push_back(look);
  }
  // From store time to MonoTime.
  for (auto& [key, job] : history.jobs)
    for (Op& op : job.ops)
      if (op.until != 0) op.until -= history.offset_min;
  return history;
}

}  // namespace sluice::test
