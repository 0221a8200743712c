// SPDX-License-Identifier: MIT
#include "tests/queue/sim/explain.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace sluice::queue::sim {
namespace {

// Times are stored in milliseconds, so that what is computed from two of them may be off by one.
constexpr Duration kRounding = std::chrono::milliseconds(1);
constexpr std::size_t kStatesMax = 2'000;

struct Window {
  WallTime first = {};
  WallTime last = {};

  static Window at(WallTime time) { return {time, time}; }
  Window plus(Duration shortest, Duration longest) const {
    return {first + shortest, last + longest};
  }
  bool holds(WallTime time) const { return time >= first - kRounding && time <= last + kRounding; }
};

struct State {
  bool gone = false;
  Lane lane = Lane::ready;
  std::uint32_t attempts = 0;
  std::uint64_t claims = 0;
  std::uint32_t lapses = 0;
  std::int32_t priority = 0;
  std::optional<Window> due = {};
  bool any_due = false;
  std::optional<WallTime> expires = {};
  bool any_expires = false;
  bool any_lapses = false;
  Window deadline = {};
  Window finished = {};
  DeathReason reason = DeathReason::none;
  bool new_place = false;
  unsigned used = 0;
};

bool is_finished(Lane lane) {
  return lane == Lane::done || lane == Lane::dead || lane == Lane::cancelled;
}

State state_of(const Job& job) {
  State state{.lane = job.lane,
              .attempts = job.attempts,
              .claims = job.claims,
              .lapses = job.lapses,
              .priority = job.priority,
              .expires = job.expires,
              .reason = job.reason};
  if (job.due) state.due = Window::at(*job.due);
  if (job.deadline) state.deadline = Window::at(*job.deadline);
  if (job.finished) state.finished = Window::at(*job.finished);
  return state;
}

bool matches(const State& state, const Job& job) {
  if (state.gone || state.lane != job.lane || state.attempts != job.attempts) return false;
  if (state.claims != job.claims || state.priority != job.priority) return false;
  if (!state.any_lapses && state.lapses != job.lapses) return false;
  if (!state.any_expires && state.expires != job.expires) return false;
  if (!state.any_due) {
    if (state.due.has_value() != job.due.has_value()) return false;
    if (state.due && !state.due->holds(*job.due)) return false;
  }
  if (job.lane == Lane::leased) return job.deadline && state.deadline.holds(*job.deadline);
  if (job.lane == Lane::dead && state.reason != job.reason) return false;
  return !is_finished(job.lane) || (job.finished && state.finished.holds(*job.finished));
}

class Search {
 public:
  Search(const Job* after, const Circumstances& about) : after_(after), about_(about) {
    for (std::size_t i = 0; i < about.moves.size(); ++i)
      if (about.moves[i].must) must_ |= 1u << i;
    configs_.push_back(about.before);
    if (!(*about.before == *about.after)) configs_.push_back(about.after);
  }

  std::optional<Path> from(const State& start, const std::optional<RetryPolicy>& retry) {
    retry_ = retry;
    states_.push_back(start);
    for (std::size_t next = 0; next < states_.size() && next < kStatesMax; ++next) {
      const State state = states_[next];
      const bool arrived = after_ == nullptr ? state.gone : matches(state, *after_);
      if (arrived && (state.used & must_) == must_) return Path{.new_place = state.new_place};
      for (const QueueConfig* config : configs_) spread(state, *config);
    }
    return std::nullopt;
  }

 private:
  void spread(const State& state, const QueueConfig& config) {
    if (state.gone) return;
    time_passes(state, config);
    for (std::size_t i = 0; i < about_.moves.size(); ++i) {
      if ((state.used & (1u << i)) != 0) continue;
      State next = state;
      next.used |= 1u << i;
      const Move& move = about_.moves[i];
      if (move.item == nullptr)
        by_whole_call(next, *move.call, config);
      else
        by_item(next, *move.call, *move.item, config);
    }
  }

  void add(const State& state) {
    if (states_.size() < kStatesMax) states_.push_back(state);
  }

  void time_passes(State state, const QueueConfig& config) {
    const WallTime now = about_.now;
    const bool waits = state.lane != Lane::leased && !is_finished(state.lane);
    if (waits && state.expires && *state.expires <= now)
      die(state, DeathReason::expired, Window{*state.expires, now});
    if (state.lane == Lane::scheduled && state.due && state.due->first <= now) {
      state.lane = Lane::ready;
      state.new_place = true;
      return add(state);
    }
    if (state.lane == Lane::leased && state.deadline.first <= now) return lapse(state, config);
    if (!is_finished(state.lane)) return;
    const Duration kept = state.lane == Lane::dead ? config.dead_retention : config.done_retention;
    if (kept != Duration::max() && state.finished.first + kept - kRounding <= now) vanish(state);
  }

  void lapse(State state, const QueueConfig& config) {
    ++state.lapses;
    const Window when{state.deadline.first, about_.now};
    if (state.lapses >= config.lapses_max) return die(state, DeathReason::poison, when);
    if (state.attempts >= policy(config).attempts_max)
      return die(state, DeathReason::attempts, when);
    state.lane = Lane::ready;
    add(state);
  }

  void die(State state, DeathReason reason, Window when) {
    state.lane = Lane::dead;
    state.reason = reason;
    state.finished = when;
    add(state);
  }

  void vanish(State state) {
    state.gone = true;
    add(state);
  }

  void finish(State state, Lane lane, Window when, const QueueConfig& config) {
    if (config.done_retention == Duration{}) return vanish(state);
    state.lane = lane;
    state.finished = when;
    add(state);
  }

  const RetryPolicy& policy(const QueueConfig& config) const {
    return retry_ ? *retry_ : config.retry;
  }

  void by_whole_call(State state, const Call& call, const QueueConfig& config) {
    if (call.verb == Verb::purge) {
      if (state.lane == call.lane) vanish(state);
      return;
    }
    if (state.lane != Lane::ready) return;
    if (state.expires && !state.any_expires && *state.expires <= call.begun) return;
    const Duration lease = call.claim.lease.value_or(config.lease);
    state.lane = Lane::leased;
    ++state.claims;
    ++state.attempts;
    state.deadline = during(call).plus(lease, lease);
    add(state);
  }

  Window during(const Call& call) const { return {call.begun, std::max(call.ended, about_.now)}; }

  void by_item(State& state, const Call& call, const Item& item, const QueueConfig& config) {
    switch (call.verb) {
      case Verb::extend:
      case Verb::ack:
      case Verb::fail:
      case Verb::release:
        if (state.lane != Lane::leased || state.claims != item.token.claim) return;
        if (state.deadline.last <= call.begun) return;
        return by_worker(state, call, item, config);
      default:
        if (operator_answer(call.verb, state.lane) != Code::ok) return;
        return by_operator(state, call, item, config);
    }
  }

  void by_worker(State& state, const Call& call, const Item& item, const QueueConfig& config) {
    const Window when = during(call);
    const Duration span = item.span.value_or(Duration{});
    switch (call.verb) {
      case Verb::extend:
        state.deadline =
            when.plus(item.span.value_or(config.lease), item.span.value_or(config.lease));
        return add(state);
      case Verb::ack:
        return finish(state, Lane::done, when, config);
      case Verb::fail:
        return fail(state, item, when, config);
      default:
        --state.attempts;
        state.lane = span > Duration{} ? Lane::scheduled : Lane::ready;
        if (span > Duration{}) state.due = when.plus(span, span);
        return add(state);
    }
  }

  void fail(State& state, const Item& item, Window when, const QueueConfig& config) {
    const RetryPolicy& retry = policy(config);
    if (item.flag) die(state, DeathReason::refused, when);
    if (state.attempts >= retry.attempts_max) return die(state, DeathReason::attempts, when);
    if (item.flag) return;
    Duration longest = item.span.value_or(Duration{});
    Duration shortest = longest;
    if (!item.span) {
      const double grown = static_cast<double>(retry.base.count()) *
                           std::pow(retry.factor, static_cast<double>(state.attempts) - 1);
      longest = Duration(
          static_cast<std::int64_t>(std::min(grown, static_cast<double>(retry.cap.count()))));
      shortest = Duration(
          static_cast<std::int64_t>(static_cast<double>(longest.count()) * (1 - retry.jitter)));
    }
    state.lane = Lane::scheduled;
    state.due = when.plus(shortest, longest);
    add(state);
  }

  void by_operator(State& state, const Call& call, const Item& item, const QueueConfig& config) {
    const Window when = during(call);
    switch (call.verb) {
      case Verb::cancel:
        return finish(state, Lane::cancelled, when, config);
      case Verb::remove:
        return vanish(state);
      case Verb::requeue:
        return requeue(state, item);
      case Verb::edit:
        return edit(state, call, item);
      case Verb::hold:
        state.lane = Lane::held;
        return add(state);
      case Verb::unhold:
        return unhold(state, when);
      case Verb::break_lease:
        state.lane = Lane::ready;
        return add(state);
      default:
        return;
    }
  }

  void requeue(State& state, const Item& item) {
    if (!item.flag) state.attempts = 0;
    state.any_lapses = item.flag;
    state.lapses = 0;
    state.due.reset();
    state.expires.reset();
    state.lane = Lane::ready;
    state.new_place = true;
    add(state);
  }

  void unhold(State& state, Window when) {
    const bool later = state.due && state.due->last > when.first;
    const bool now = !state.due || state.due->first <= when.last;
    if (later) {
      state.lane = Lane::scheduled;
      add(state);
    }
    if (now) {
      state.lane = Lane::ready;
      state.new_place = true;
      add(state);
    }
  }

  void edit(State& state, const Call& call, const Item& item) {
    const EditRequest& request = item.edit;
    if (request.priority) {
      state.priority = *request.priority;
      state.new_place = state.lane == Lane::ready;
    }
    if (request.due) {
      state.due = Window::at(*request.due);
      state.any_due = *request.due <= during(call).last;
      if (state.lane == Lane::ready && *request.due > call.begun) {
        State later = state;
        later.lane = Lane::scheduled;
        add(later);
        if (!state.any_due) return;
      }
    }
    add(state);
  }

  const Job* after_;
  const Circumstances& about_;
  std::vector<const QueueConfig*> configs_;
  std::optional<RetryPolicy> retry_;
  unsigned must_ = 0;
  std::deque<State> states_;
};

}  // namespace

std::optional<Path> explain(const Job& before, const Job* after, const Circumstances& about) {
  return Search(after, about).from(state_of(before), before.retry);
}

std::optional<Path> explain_new(const NewJob& job, const Call& call, const Job& after,
                                const Circumstances& about) {
  const Window when{call.begun, about.now};
  State state{.priority = job.priority.value_or(after.priority), .new_place = true};
  const auto start = [&](Lane lane) {
    state.lane = lane;
    return Search(&after, about).from(state, job.retry);
  };
  if (job.ttl > Duration{}) {
    state.expires = after.expires;
    if (!after.expires || !when.plus(job.ttl, job.ttl).holds(*after.expires)) return std::nullopt;
  }
  if (job.delay > Duration{}) state.due = when.plus(job.delay, job.delay);
  if (job.due) state.due = Window::at(*job.due);
  const bool later = state.due && state.due->last > when.first;
  const bool now = !state.due || state.due->first <= when.last;
  state.any_due = job.due.has_value() && now;
  if (job.hold) return start(Lane::held);
  if (later)
    if (const auto path = start(Lane::scheduled)) return path;
  return now ? start(Lane::ready) : std::nullopt;
}

Code operator_answer(Verb verb, std::optional<Lane> lane) {
  if (!lane) return Code::not_found;
  const auto either = [&](std::initializer_list<Lane> lanes) {
    return std::ranges::find(lanes, *lane) != lanes.end() ? Code::ok : Code::conflict;
  };
  switch (verb) {
    case Verb::cancel:
      return either({Lane::waiting, Lane::held, Lane::scheduled, Lane::ready, Lane::leased});
    case Verb::requeue:
    case Verb::remove:
      return either({Lane::done, Lane::dead, Lane::cancelled});
    case Verb::edit:
      return either({Lane::waiting, Lane::held, Lane::scheduled, Lane::ready});
    case Verb::hold:
      return either({Lane::scheduled, Lane::ready});
    case Verb::unhold:
      return either({Lane::held});
    case Verb::break_lease:
      return either({Lane::leased});
    default:
      return Code::ok;
  }
}

}  // namespace sluice::queue::sim
