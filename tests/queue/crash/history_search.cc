// SPDX-License-Identifier: MIT
// The search for an order, after Wing and Gong: take any call that may be next, apply it to the
// state, go on, and come back if that leads nowhere. What was tried is remembered.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "tests/queue/crash/history.h"

namespace sluice::test {
namespace {

using queue::Lane;

// Due times and the deadlines of unanswered claims follow from the instant of the call and are
// rounded to milliseconds by the store.
constexpr Micros kRounding = 1'000;
constexpr Micros kAlways = INT64_MIN / 4;

enum class Phase : std::uint8_t { absent, waiting, leased, done, dead, cancelled };

struct State {
  Phase phase = Phase::absent;
  std::uint64_t claims = 0;
  std::uint32_t attempts = 0;
  std::uint32_t lapses = 0;
  Micros due = 0;        // Waiting: not before this.
  Micros until_min = 0;  // Leased: the lease ends at an instant between these two.
  Micros until_max = 0;
  Micros now = kAlways;  // The earliest instant at which the last call can have been served.

  bool finished() const {
    return phase == Phase::done || phase == Phase::dead || phase == Phase::cancelled;
  }

  std::string key() const {
    std::string text;
    for (const Micros part :
         {static_cast<Micros>(phase), static_cast<Micros>(claims), static_cast<Micros>(attempts),
          static_cast<Micros>(lapses), due, until_min, until_max, now})
      text += std::to_string(part) + " ";
    return text;
  }
};

Phase phase_of(std::uint8_t lane) {
  switch (static_cast<Lane>(lane)) {
    case Lane::leased:
      return Phase::leased;
    case Lane::done:
      return Phase::done;
    case Lane::dead:
      return Phase::dead;
    case Lane::cancelled:
      return Phase::cancelled;
    default:
      return Phase::waiting;
  }
}

// Serves single calls. Each function returns the state after, or nothing if it cannot be.
class Machine {
 public:
  explicit Machine(const JobRules& rules) : rules_(rules) {}

  // The lease ends by itself, in time for `op` to see it.
  std::optional<State> lapse(State state, const Op& op) const {
    if (state.phase != Phase::leased) return {};
    state.now = std::max(state.now, state.until_min - rules_.slack);
    if (state.now > op.end) return {};
    ++state.lapses;
    if (state.lapses >= rules_.lapses_max || state.attempts >= rules_.attempts_max)
      return enter(state, Phase::dead);
    return wait_until(state, kAlways);
  }

  std::optional<State> serve(State state, const Op& op) const {
    state.now = std::max(state.now, op.begin);
    if (state.now > op.end) return {};
    switch (op.verb) {
      case Verb::enqueue:
        return enqueue(state, op);
      case Verb::claim:
        return claim(state, op);
      case Verb::extend:
      case Verb::ack:
      case Verb::fail:
      case Verb::release:
        return use_lease(state, op);
      case Verb::look:
        return look(state, op);
      default:
        return operate(state, op);
    }
  }

 private:
  static State enter(State state, Phase phase) {
    return {.phase = phase,
            .claims = state.claims,
            .attempts = state.attempts,
            .lapses = state.lapses,
            .now = state.now};
  }

  static State wait_until(State state, Micros due) {
    state = enter(state, Phase::waiting);
    state.due = due;
    return state;
  }

  static State wait_for(State state, Micros delay) {
    return wait_until(state, delay == 0 ? kAlways : state.now + delay - kRounding);
  }

  static std::optional<State> enqueue(State state, const Op& op) {
    const bool is_new = state.phase == Phase::absent;
    if (op.maybe()) return is_new ? std::optional(wait_for(state, op.span)) : std::nullopt;
    return is_new ? std::nullopt : std::optional(state);
  }

  std::optional<State> claim(State state, const Op& op) const {
    if (state.phase != Phase::waiting) return {};
    state.now = std::max(state.now, state.due - rules_.slack);
    if (state.now > op.end) return {};
    if (!op.open && (op.claim != state.claims + 1 || op.attempts != state.attempts + 1)) return {};
    state.phase = Phase::leased;
    ++state.claims;
    ++state.attempts;
    set_until(state, op);
    return state;
  }

  static void set_until(State& state, const Op& op) {
    state.due = 0;
    state.until_min = op.open ? state.now + op.span - kRounding : op.until;
    state.until_max = op.open ? op.end + op.span + kRounding : op.until;
  }

  std::optional<State> use_lease(State state, const Op& op) const {
    const bool mine = state.phase == Phase::leased && state.claims == op.claim;
    if (!op.maybe()) {
      if (!mine) return state;
      // Refused although it is the last token: then its time must have been over.
      state.now = std::max(state.now, state.until_min - rules_.slack);
      return state.now <= op.end ? std::optional(state) : std::nullopt;
    }
    if (!mine || state.now >= state.until_max + rules_.slack) return {};
    if (op.verb == Verb::ack) return enter(state, Phase::done);
    if (op.verb == Verb::extend) {
      set_until(state, op);
      return state;
    }
    if (op.verb == Verb::release) {
      --state.attempts;
      return wait_for(state, op.span);
    }
    if (op.dead || state.attempts >= rules_.attempts_max) return enter(state, Phase::dead);
    return wait_for(state, op.span);
  }

  static std::optional<State> operate(State state, const Op& op) {
    if (op.maybe()) {
      if (op.verb == Verb::cancel &&
          (state.phase == Phase::waiting || state.phase == Phase::leased))
        return enter(state, Phase::cancelled);
      if (op.verb == Verb::break_lease && state.phase == Phase::leased)
        return wait_until(state, kAlways);
      if (op.verb != Verb::requeue || !state.finished()) return {};
      state.attempts = 0;
      state.lapses = 0;
      return wait_until(state, kAlways);
    }
    const bool absent = state.phase == Phase::absent;
    if (absent || op.code == Code::not_found)
      return absent && op.code == Code::not_found ? std::optional(state) : std::nullopt;
    const bool in_the_way = op.verb == Verb::cancel    ? state.finished()
                            : op.verb == Verb::requeue ? !state.finished()
                                                       : state.phase != Phase::leased;
    return in_the_way ? std::optional(state) : std::nullopt;
  }

  static std::optional<State> look(State state, const Op& op) {
    if (op.open) return state;
    if (op.code == Code::not_found)
      return state.phase == Phase::absent ? std::optional(state) : std::nullopt;
    const bool same = state.phase == phase_of(op.lane) && state.claims == op.claim &&
                      state.attempts == op.attempts && state.lapses == op.lapses;
    return same ? std::optional(state) : std::nullopt;
  }

  JobRules rules_;
};

class Searcher {
 public:
  Searcher(std::vector<Op> ops, const JobRules& rules, std::uint64_t steps_max)
      : ops_(std::move(ops)), machine_(rules), steps_max_(steps_max), served_(ops_.size(), '0') {
    // Answered calls first, in the order of their answers: that is nearly always a possible order.
    std::ranges::sort(ops_, [](const Op& a, const Op& b) {
      return std::pair(a.open, a.end) < std::pair(b.open, b.end);
    });
    answered_ = static_cast<std::size_t>(std::ranges::count(ops_, false, &Op::open));
  }

  Search search() {
    const bool found = go_on({});
    const Verdict verdict = found                  ? Verdict::possible
                            : steps_ >= steps_max_ ? Verdict::undecided
                                                   : Verdict::impossible;
    return {.verdict = verdict, .steps = steps_};
  }

 private:
  bool go_on(const State& state) {
    if (served_count_ == answered_) return true;
    if (steps_ >= steps_max_) return false;
    ++steps_;
    if (!tried_.insert(key_of(state)).second) return false;
    // A call cannot come after one that was answered before it began.
    Micros first_end = INT64_MAX;
    for (std::size_t i = 0; i < answered_; ++i)
      if (served_[i] == '0') first_end = std::min(first_end, ops_[i].end);
    for (std::size_t i = 0; i < ops_.size(); ++i)
      if (served_[i] == '0' && ops_[i].begin <= first_end && try_next(state, i)) return true;
    return false;
  }

  bool try_next(const State& state, std::size_t i) {
    const Op& op = ops_[i];
    for (const std::optional<State>& before : {std::optional(state), machine_.lapse(state, op)}) {
      if (!before) continue;
      const std::optional<State> after = machine_.serve(*before, op);
      if (!after) continue;
      served_[i] = '1';
      served_count_ += i < answered_ ? 1 : 0;
      if (go_on(*after)) return true;
      served_[i] = '0';
      served_count_ -= i < answered_ ? 1 : 0;
    }
    return false;
  }

  // An unanswered call whose time is over makes no difference any more, served or not.
  std::string key_of(const State& state) const {
    std::string served = served_;
    for (std::size_t i = answered_; i < ops_.size(); ++i)
      if (ops_[i].end < state.now) served[i] = '1';
    return served + state.key();
  }

  std::vector<Op> ops_;
  Machine machine_;
  std::uint64_t steps_max_;
  std::uint64_t steps_ = 0;
  std::size_t answered_ = 0;
  std::size_t served_count_ = 0;
  std::string served_;
  std::unordered_set<std::string> tried_;
};

}  // namespace

Search search_order(std::vector<Op> ops, const JobRules& rules, std::uint64_t steps_max) {
  return Searcher(std::move(ops), rules, steps_max).search();
}

}  // namespace sluice::test
