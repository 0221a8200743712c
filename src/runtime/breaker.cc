// SPDX-License-Identifier: MIT
#include <sluice/runtime/breaker.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>

#include "base/check.h"
#include "base/mutex.h"

namespace sluice::runtime {
namespace {

constexpr std::int64_t kWindowParts = 10;

std::string in_seconds(Duration duration) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(duration).count());
}

/// How many calls there were of late, and how many of them failed, in parts of the window.
class Window {
 public:
  explicit Window(Duration length) : part_length_(std::max(length / kWindowParts, Duration(1))) {}

  void add(MonoTime now, bool failed) {
    Part& part = at(number_of(now));
    ++part.calls;
    part.failures += failed ? 1 : 0;
  }
  std::uint64_t calls(MonoTime now) const { return sum(now, &Part::calls); }
  std::uint64_t failures(MonoTime now) const { return sum(now, &Part::failures); }
  void clear() { parts_ = {}; }

 private:
  struct Part {
    std::int64_t number = -1;
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;
  };

  std::int64_t number_of(MonoTime now) const { return now.time_since_epoch() / part_length_; }
  Part& at(std::int64_t number) {
    Part& part = parts_[static_cast<std::size_t>(number % kWindowParts)];
    if (part.number != number) part = {.number = number};
    return part;
  }
  std::uint64_t sum(MonoTime now, std::uint64_t Part::* count) const {
    const std::int64_t last = number_of(now);
    std::uint64_t total = 0;
    for (const Part& part : parts_)
      if (part.number > last - kWindowParts) total += part.*count;
    return total;
  }

  Duration part_length_;
  std::array<Part, kWindowParts> parts_ = {};
};

Failure wrong(const char* what) {
  return error(Code::invalid_argument, std::string("breaker: ") + what);
}

}  // namespace

Status validate(const BreakerPolicy& policy) {
  const auto share = [](double value) { return value >= 0 && value <= 1; };
  if (!share(policy.failure_rate)) return wrong("failure_rate must be 0 to 1");
  if (policy.failures_in_row == 0 && policy.failure_rate == 0)
    return wrong("failures_in_row and failure_rate are both off: it would never open");
  if (policy.window < Duration(1)) return wrong("window must be 1 ns or longer");
  if (policy.slow_call < Duration{}) return wrong("slow_call must not be negative");
  if (policy.cooldown < Duration(1)) return wrong("cooldown must be 1 ns or longer");
  if (policy.cooldown_max < policy.cooldown) return wrong("cooldown_max is below cooldown");
  if (!share(policy.jitter)) return wrong("jitter must be 0 to 1");
  if (policy.probes < 1) return wrong("probes must be 1 or more");
  return {};
}

const char* breaker_state_name(BreakerState state) {
  switch (state) {
    case BreakerState::closed:
      return "closed";
    case BreakerState::half_open:
      return "half-open";
    case BreakerState::open:
      return "open";
  }
  return "unknown";
}

struct Breaker::State {
  State(const BreakerPolicy& given, Seams by)
      : policy(given),
        clock(*by.clock),
        random(by.random != nullptr ? *by.random : kernel),
        window(given.window),
        since(by.clock->mono()),
        next_cooldown(given.cooldown) {}

  /// Goes by time or by rate: then every call has to be looked at.
  bool measures() const { return policy.failure_rate > 0; }
  bool timed() const { return policy.slow_call > Duration{}; }

  BreakerState state() const { return static_cast<BreakerState>(phase.load() & 3); }

  void change(BreakerState to, MonoTime now) SLUICE_ANNOTATE(requires_capability(mutex)) {
    since = now;
    in_row = 0;
    probes_admitted = 0;
    probes_ok = 0;
    window.clear();
    const std::uint64_t next_epoch = (phase.load() >> 2) + 1;
    phase = next_epoch << 2 | static_cast<std::uint64_t>(to);
  }
  void open(MonoTime now, std::string why) SLUICE_ANNOTATE(requires_capability(mutex)) {
    cooldown = next_cooldown;
    next_cooldown =
        std::min(cooldown > policy.cooldown_max / 2 ? policy.cooldown_max : cooldown * 2,
                 policy.cooldown_max);
    const double share = 1 - policy.jitter * random.unit();
    probe_at = now + std::chrono::duration_cast<Duration>(cooldown * share);
    reason = std::move(why);
    change(BreakerState::open, now);
  }

  const BreakerPolicy policy;
  const Clock& clock;
  SystemRandom kernel;
  Random& random;
  /// The state in the two lowest bits, above them how often it has changed: a call's epoch.
  std::atomic<std::uint64_t> phase{static_cast<std::uint64_t>(BreakerState::closed)};
  std::atomic<std::uint32_t> in_row{0};  ///< Written under the lock.

  mutable Mutex mutex;
  Window window SLUICE_GUARDED_BY(mutex);
  MonoTime since SLUICE_GUARDED_BY(mutex);
  MonoTime probe_at SLUICE_GUARDED_BY(mutex) = {};
  Duration cooldown SLUICE_GUARDED_BY(mutex) = {};
  Duration next_cooldown SLUICE_GUARDED_BY(mutex);
  std::uint32_t probes_admitted SLUICE_GUARDED_BY(mutex) = 0;
  std::uint32_t probes_ok SLUICE_GUARDED_BY(mutex) = 0;
  std::string reason SLUICE_GUARDED_BY(mutex) = {};
};

Breaker::Breaker(std::string key, const BreakerPolicy& policy, Seams seams) : key_(std::move(key)) {
  SLUICE_CHECK(validate(policy).ok());
  state_ = std::make_unique<State>(policy, seams);
}

Breaker::~Breaker() = default;

Result<Breaker::Call> Breaker::admit() {
  State& state = *state_;
  const std::uint64_t phase = state.phase.load();
  if (static_cast<BreakerState>(phase & 3) == BreakerState::closed)
    return Call(this, phase >> 2, state.timed() ? state.clock.mono() : MonoTime{});
  const MonoTime now = state.clock.mono();
  const MutexLock lock(state.mutex);
  if (state.state() == BreakerState::open) {
    if (now < state.probe_at)
      return error(Code::unavailable, fmt::format("\"{}\" is not called for another {}: {}", key_,
                                                  in_seconds(state.probe_at - now), state.reason));
    state.change(BreakerState::half_open, now);
  }
  if (state.state() == BreakerState::half_open) {
    if (state.probes_admitted >= state.policy.probes)
      return error(Code::unavailable,
                   fmt::format("\"{}\" is being tried: wait for how that ends", key_));
    ++state.probes_admitted;
  }
  return Call(this, state.phase.load() >> 2, now);
}

void Breaker::settle(const Call& call, bool ok, std::string_view reason) {
  State& state = *state_;
  const std::uint64_t phase = state.phase.load();
  if (phase >> 2 != call.epoch_) return;
  const bool closed = static_cast<BreakerState>(phase & 3) == BreakerState::closed;
  if (ok && closed && !state.measures() && !state.timed() && state.in_row.load() == 0) return;
  const MonoTime now = state.clock.mono();
  const bool slow = ok && state.timed() && now - call.started_ >= state.policy.slow_call;
  const bool failed = !ok || slow;
  const std::string why =
      slow ? fmt::format("a call took {}", in_seconds(now - call.started_)) : std::string(reason);
  const MutexLock lock(state.mutex);
  if (state.phase.load() >> 2 != call.epoch_) return;
  if (state.state() == BreakerState::half_open) {
    if (failed) return state.open(now, why);
    if (++state.probes_ok < state.policy.probes) return;
    state.next_cooldown = state.policy.cooldown;
    return state.change(BreakerState::closed, now);
  }
  state.window.add(now, failed);
  state.in_row = failed ? state.in_row.load() + 1 : 0;
  if (!failed) return;
  if (state.policy.failures_in_row > 0 && state.in_row.load() >= state.policy.failures_in_row)
    return state.open(now,
                      fmt::format("{} failures in a row, the last: {}", state.in_row.load(), why));
  if (!state.measures()) return;
  const auto calls = static_cast<double>(state.window.calls(now));
  const auto failures = static_cast<double>(state.window.failures(now));
  if (calls >= state.policy.calls_min && failures >= state.policy.failure_rate * calls)
    state.open(now, fmt::format("{} of {} calls failed, the last: {}", failures, calls, why));
}

void Breaker::let_go(const Call& call) {
  State& state = *state_;
  if (state.state() == BreakerState::closed) return;
  const MutexLock lock(state.mutex);
  if (state.phase.load() >> 2 == call.epoch_ && state.state() == BreakerState::half_open)
    --state.probes_admitted;
}

Breaker::Call::~Call() {
  if (breaker_ != nullptr) breaker_->let_go(*this);
}

void Breaker::Call::succeeded() {
  if (Breaker* breaker = std::exchange(breaker_, nullptr)) breaker->settle(*this, true, {});
}

void Breaker::Call::failed(std::string_view reason) {
  if (Breaker* breaker = std::exchange(breaker_, nullptr)) breaker->settle(*this, false, reason);
}

BreakerView Breaker::view() const {
  const State& state = *state_;
  const MutexLock lock(state.mutex);
  BreakerView view{.state = state.state(),
                   .since = state.since,
                   .reason = state.reason,
                   .failures_in_row = state.in_row.load(),
                   .cooldown = state.cooldown};
  if (view.state == BreakerState::open) view.next_probe_at = state.probe_at;
  return view;
}

struct Breakers::State {
  explicit State(Config given) : config(given) {}

  const Config config;
  mutable Mutex mutex;
  std::map<std::string, std::unique_ptr<Breaker>, std::less<>> breakers SLUICE_GUARDED_BY(mutex);
};

Breakers::Breakers(Config config) {
  SLUICE_CHECK(validate(config.policy).ok());
  SLUICE_CHECK(config.keys_max > 0);
  state_ = std::make_unique<State>(config);
}

Breakers::~Breakers() = default;

Result<Breaker*> Breakers::get(std::string_view key) {
  State& state = *state_;
  const MutexLock lock(state.mutex);
  if (const auto found = state.breakers.find(key); found != state.breakers.end())
    return found->second.get();
  if (state.breakers.size() >= state.config.keys_max)
    return error(Code::limit_exceeded,
                 fmt::format("there are {} breakers already: use fewer keys or allow more",
                             state.config.keys_max));
  auto breaker =
      std::make_unique<Breaker>(std::string(key), state.config.policy, state.config.seams);
  Breaker* const made = breaker.get();
  state.breakers.emplace(std::string(key), std::move(breaker));
  return made;
}

std::vector<std::pair<std::string, BreakerView>> Breakers::list() const {
  const MutexLock lock(state_->mutex);
  std::vector<std::pair<std::string, BreakerView>> all;
  for (const auto& [key, breaker] : state_->breakers) all.emplace_back(key, breaker->view());
  return all;
}

void Breakers::collect(std::vector<Metric>& metrics) const {
  for (const auto& [key, view] : list())
    metrics.push_back({.name = "sluice_breaker_state",
                       .help = "0 closed, 1 half-open, 2 open.",
                       .labels = {{"key", key}},
                       .value = static_cast<double>(view.state)});
}

}  // namespace sluice::runtime
