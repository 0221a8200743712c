// SPDX-License-Identifier: MIT
// The workers of a pool: starting and ending them, and what their attempts came to.
#include <cxxabi.h>
#include <fmt/format.h>
#include <sluice/runtime/pool.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <exception>
#include <typeinfo>

#include "base/check.h"
#include "base/histogram.h"
#include "base/mutex.h"
#include "runtime/collect.h"

namespace sluice::runtime {

int scale_step(const ScaleRule& rule, double fill, std::size_t workers) {
  if (fill >= rule.up_at && workers < rule.max) return 1;
  if (fill < rule.down_at && workers > rule.base) return -1;
  return 0;
}

namespace detail {
namespace {

/// What threw, as it is called in the source.
std::string type_name(const std::exception& thrown) {
  int status = 0;
  char* const name = abi::__cxa_demangle(typeid(thrown).name(), nullptr, nullptr, &status);
  std::string text = name != nullptr ? name : typeid(thrown).name();
  std::free(name);
  return text;
}

void check_config(const PoolConfig& config) {
  const ScaleRule& workers = config.workers;
  SLUICE_CHECK(workers.base >= 1 && workers.max >= workers.base);
  SLUICE_CHECK(0 <= workers.down_at && workers.down_at <= workers.up_at);
  SLUICE_CHECK(workers.every > Duration{} && config.poll > Duration{});
  SLUICE_CHECK(config.retry.attempts_max >= 1);
  SLUICE_CHECK(validate(config.retry.backoff).ok());
}

}  // namespace

struct PoolCore::State {
  State(Executor& by, PoolConfig given)
      : executor(by),
        config(std::move(given)),
        clock(*config.queue.clock),
        random(config.random != nullptr ? *config.random : kernel) {}

  struct Worker {
    std::stop_source stop;
    bool leaving = false;
  };

  Executor& executor;
  const PoolConfig config;
  const Clock& clock;
  Step step;
  std::function<DelayQueueSnapshot()> look;
  std::stop_source jobs;
  std::atomic<bool> stopping{false};

  mutable Mutex mutex;
  std::vector<std::shared_ptr<Worker>> workers SLUICE_GUARDED_BY(mutex);
  std::size_t loops SLUICE_GUARDED_BY(mutex) = 0;  ///< Workers, and the one that scales.
  std::size_t number SLUICE_GUARDED_BY(mutex) = 0;
  MonoTime scale_at SLUICE_GUARDED_BY(mutex) = {};
  std::atomic<std::uint32_t> changes{0};  ///< Rung when a loop ends, and when all shall.

  SystemRandom kernel;
  Mutex failures_mutex;
  Random& random SLUICE_GUARDED_BY(failures_mutex);
  std::deque<FailedAttempt> failures SLUICE_GUARDED_BY(failures_mutex);

  std::atomic<std::uint64_t> enqueued{0}, done{0}, failed{0}, retried{0}, cancelled{0},
      handed_back{0}, running{0};
  Histogram duration;

  void ring() {
    ++changes;
    Clock::wake(changes);
  }
};

PoolCore::PoolCore(Executor& executor, PoolConfig config) {
  check_config(config);
  state_ = std::make_shared<State>(executor, std::move(config));
}

PoolCore::~PoolCore() = default;

const PoolConfig& PoolCore::config() const {
  return state_->config;
}

/// The loops of one pool; each holds the state, so that the last step may end after join().
struct PoolCore::Loops {
  static void start_worker(const std::shared_ptr<State>& state) {
    auto worker = std::make_shared<State::Worker>();
    std::string name;
    {
      const MutexLock lock(state->mutex);
      if (state->stopping) return;
      state->workers.push_back(worker);
      ++state->loops;
      name = fmt::format("{}-{}", state->config.queue.name, ++state->number);
    }
    state->executor.start({.name = std::move(name), .step = [state, worker](Duration wait_max) {
                             const LoopStep step = state->step(worker->stop.get_token(), wait_max);
                             if (step == LoopStep::finished) end_worker(*state, worker);
                             return step;
                           }});
  }
  static void end_worker(State& state, const std::shared_ptr<State::Worker>& worker) {
    {
      const MutexLock lock(state.mutex);
      std::erase(state.workers, worker);
      --state.loops;
    }
    state.ring();
  }

  static void start_scaling(const std::shared_ptr<State>& state) {
    {
      const MutexLock lock(state->mutex);
      ++state->loops;
      state->scale_at = state->clock.mono() + state->config.workers.every;
    }
    state->executor.start({.name = state->config.queue.name + "-scale",
                           .step = [state](Duration wait_max) { return scale(state, wait_max); }});
  }
  static LoopStep scale(const std::shared_ptr<State>& state, Duration wait_max) {
    const std::uint32_t seen = state->changes.load();
    if (state->stopping) {
      {
        const MutexLock lock(state->mutex);
        --state->loops;
      }
      state->ring();
      return LoopStep::finished;
    }
    MonoTime at;
    {
      const MutexLock lock(state->mutex);
      at = state->scale_at;
    }
    const MonoTime now = state->clock.mono();
    if (now < at) {
      if (wait_max > Duration{})
        state->clock.wait(state->changes, seen, std::min(at, now + wait_max));
      return LoopStep::idle;
    }
    scale_once(state, now);
    return LoopStep::again;
  }
  static void scale_once(const std::shared_ptr<State>& state, MonoTime now) {
    const ScaleRule& rule = state->config.workers;
    const std::size_t full = rule.full_depth > 0 ? rule.full_depth : state->config.queue.items_max;
    const double fill = static_cast<double>(state->look().ready) / static_cast<double>(full);
    std::shared_ptr<State::Worker> leaving;
    int change = 0;
    {
      const MutexLock lock(state->mutex);
      state->scale_at = now + rule.every;
      const auto staying = static_cast<std::size_t>(
          std::ranges::count(state->workers, false, [](const auto& w) { return w->leaving; }));
      change = scale_step(rule, fill, staying);
      if (change < 0)
        leaving =
            *std::ranges::find(state->workers, false, [](const auto& w) { return w->leaving; });
      if (leaving) leaving->leaving = true;
    }
    if (leaving) leaving->stop.request_stop();
    if (change > 0) start_worker(state);
  }
};

void PoolCore::start(Step step, std::function<DelayQueueSnapshot()> look) {
  state_->step = std::move(step);
  state_->look = std::move(look);
  for (std::size_t i = 0; i < state_->config.workers.base; ++i) Loops::start_worker(state_);
  if (state_->config.workers.max > state_->config.workers.base) Loops::start_scaling(state_);
}

void PoolCore::begin_stop() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->ring();
}

bool PoolCore::stopping() const {
  return state_->stopping;
}

void PoolCore::cut_short() {
  state_->jobs.request_stop();
}

std::stop_token PoolCore::job_stop() const {
  return state_->jobs.get_token();
}

Status PoolCore::join(Duration patience) {
  const MonoTime begun = state_->clock.mono();
  const MonoTime deadline = patience > kDelayMax ? MonoTime::max() : begun + patience;
  for (;;) {
    const std::uint32_t seen = state_->changes.load();
    std::size_t loops = 0;
    {
      const MutexLock lock(state_->mutex);
      loops = state_->loops;
    }
    if (loops == 0) return {};
    if (state_->clock.mono() >= deadline)
      return error(Code::deadline_exceeded,
                   fmt::format("{} workers of \"{}\" have not ended: their handlers ought to look "
                               "at Work::stop",
                               loops, state_->config.queue.name));
    state_->clock.wait(state_->changes, seen, deadline);
  }
}

std::size_t PoolCore::workers() const {
  const MutexLock lock(state_->mutex);
  return state_->workers.size();
}

void PoolCore::log_lost(std::size_t jobs) const {
  const DelayQueueConfig& queue = state_->config.queue;
  if (jobs > 0 && queue.log)
    queue.log(LogLevel::warning, fmt::format("pool \"{}\" ended with {} jobs that nobody took back",
                                             queue.name, jobs));
}

Outcome PoolCore::attempt(const std::function<Outcome()>& call) {
  State& state = *state_;
  ++state.running;
  const MonoTime begun = state.clock.mono();
  Outcome outcome = [&]() -> Outcome {
    try {
      return call();
    } catch (const std::exception& thrown) {
      return Outcome::thrown(thrown.what(), type_name(thrown));
    } catch (...) {
      return Outcome::thrown("something that is no std::exception was thrown", "unknown");
    }
  }();
  state.duration.record(
      static_cast<std::uint64_t>(std::max<std::int64_t>((state.clock.mono() - begun).count(), 0)));
  --state.running;
  return outcome;
}

std::optional<Duration> PoolCore::after_failure(const Outcome& outcome, FailedAttempt failed) {
  State& state = *state_;
  const PoolRetry& retry = state.config.retry;
  failed.last = outcome.kind() == Outcome::Kind::fail || failed.attempt >= retry.attempts_max;
  failed.at = state.clock.wall();
  if (state.config.queue.log)
    state.config.queue.log(
        failed.last ? LogLevel::error : LogLevel::warning,
        fmt::format("job \"{}\"{}: attempt {} of {} failed: {} ({})", failed.id,
                    failed.correlation_id.empty() ? "" : " [" + failed.correlation_id + "]",
                    failed.attempt, retry.attempts_max, failed.error, failed.type));
  ++(failed.last ? state.failed : state.retried);
  const bool last = failed.last;
  const std::uint32_t attempt = failed.attempt;
  const MutexLock lock(state.failures_mutex);
  if (state.config.failures_kept > 0) {
    if (state.failures.size() >= state.config.failures_kept) state.failures.pop_back();
    state.failures.push_front(std::move(failed));
  }
  if (last) return std::nullopt;
  if (outcome.after()) return std::max(*outcome.after(), Duration{});
  return backoff_delay(retry.backoff, attempt, state.random.unit());
}

void PoolCore::count_enqueued() {
  ++state_->enqueued;
}

void PoolCore::count_done() {
  ++state_->done;
}

void PoolCore::count_cancelled(std::uint64_t jobs) {
  state_->cancelled += jobs;
}

void PoolCore::count_handed_back(std::uint64_t jobs) {
  state_->handed_back += jobs;
}

PoolCounts PoolCore::counts() const {
  const State& state = *state_;
  return {.enqueued = state.enqueued,
          .done = state.done,
          .failed = state.failed,
          .cancelled = state.cancelled,
          .handed_back = state.handed_back,
          .running = state.running,
          .retried = state.retried};
}

std::vector<FailedAttempt> PoolCore::recent_failures() const {
  const MutexLock lock(state_->failures_mutex);
  return {state_->failures.begin(), state_->failures.end()};
}

void PoolCore::collect(std::vector<Metric>& metrics) const {
  const PoolCounts now = counts();
  const std::string& name = state_->config.queue.name;
  const auto add = [&](const char* metric, const char* help, Metric::Type type, std::uint64_t value,
                       std::vector<std::pair<std::string, std::string>> labels) {
    labels.insert(labels.begin(), {"queue", name});
    metrics.push_back({.name = metric,
                       .help = help,
                       .type = type,
                       .labels = std::move(labels),
                       .value = static_cast<double>(value)});
  };
  add("sluice_jobs_done_total", "Jobs that succeeded.", Metric::Type::counter, now.done, {});
  constexpr const char* kFailures = "Attempts that failed.";
  add("sluice_job_failures_total", kFailures, Metric::Type::counter, now.failed,
      {{"retried", "no"}});
  add("sluice_job_failures_total", kFailures, Metric::Type::counter, now.retried,
      {{"retried", "yes"}});
  add("sluice_pool_workers", "Workers of the pool.", Metric::Type::gauge, workers(), {});
  metrics.push_back(seconds_metric("sluice_job_processing_duration_seconds",
                                   "How long attempts took.", {{"queue", name}}, state_->duration));
}

}  // namespace detail
}  // namespace sluice::runtime
