// SPDX-License-Identifier: MIT
// Workers over a delay queue: they run a handler for each job, try again what failed, and grow and
// shrink in number with the backlog.
//
//   ThreadExecutor threads;
//   Pool<> pool(threads, {.workers = {.base = 4, .max = 16}}, [](const Work<>& work) -> Outcome {
//     return fetch(work.payload);      // A Status will do.
//   });
//   SLUICE_TRY(pool.enqueue({.id = "report-101", .payload = url}));
//   ...
//   for (auto& job : pool.stop()) save_for_later(job);
#pragma once

#include <sluice/backoff.h>
#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/random.h>
#include <sluice/result.h>
#include <sluice/runtime/dedup.h>
#include <sluice/runtime/delay_queue.h>
#include <sluice/runtime/executor.h>
#include <sluice/runtime/handler.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// How many workers there are. One comes when the queue is filled to `up_at`, one goes when it is
/// filled below `down_at`, one at a time.
struct ScaleRule {
  std::size_t base = 1;  ///< Never fewer; at least 1.
  std::size_t max = 1;   ///< Never more; at least `base`.
  double up_at = 0.6;    ///< Of `full_depth`.
  double down_at = 0.4;
  std::size_t full_depth = 0;  ///< Ready jobs that count as a full queue; 0: the queue's items_max.
  Duration every = std::chrono::seconds(1);
};
/// 1, -1 or 0: by how many workers to change.
int scale_step(const ScaleRule& rule, double fill, std::size_t workers);

struct PoolRetry {
  std::uint32_t attempts_max = 5;  ///< At least 1.
  BackoffPolicy backoff = {};
};

struct PoolConfig {
  DelayQueueConfig queue = {};  ///< Also the pool's name, clock and log.
  ScaleRule workers = {};
  PoolRetry retry = {};
  Duration poll = std::chrono::seconds(5);  ///< A worker looks whether to stop at least so often.
  std::size_t failures_kept = 64;           ///< By recent_failures().
  Random* random = nullptr;  ///< For jitter, used under a lock; default: the kernel's.
};

template <class T = std::string>
struct NewWork {
  std::string id = {};  ///< In logs and failures; need not be unique.
  T payload = {};
  std::string label = {};
  std::optional<std::int32_t> priority = {};
  Duration delay = {};
  std::string correlation_id = {};
  /// Not empty: refused with `already_exists` while another job of this key is not over.
  std::string dedup_key = {};
};

/// A job that the pool gives back undone.
template <class T = std::string>
struct Undone {
  std::string id = {};
  T payload;
  std::uint32_t attempts = 0;  ///< That have failed.
  std::int32_t priority = 0;
  Duration left = {};  ///< Of its delay.
  std::string correlation_id = {};
};

/// An attempt that failed, for people to look at.
struct FailedAttempt {
  std::string id = {};
  std::string correlation_id = {};
  std::string error = {};
  std::string type = {};  ///< Outcome::type().
  std::uint32_t attempt = 0;
  bool last = false;  ///< The job failed with it.
  WallTime at = {};
};

/// Each job that was enqueued is in exactly one of the others but `retried`, once nothing moves.
struct PoolCounts {
  std::uint64_t enqueued = 0;
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t handed_back = 0;
  std::uint64_t queued = 0;
  std::uint64_t running = 0;
  std::uint64_t retried = 0;  ///< Attempts that failed and were followed by another.
};

namespace detail {

/// The workers of a pool and what they count, whatever their jobs are.
class PoolCore {
 public:
  using Step = std::function<LoopStep(const std::stop_token& stop, Duration wait_max)>;

  PoolCore(Executor& executor, PoolConfig config);
  ~PoolCore();
  PoolCore(const PoolCore&) = delete;
  PoolCore& operator=(const PoolCore&) = delete;

  void start(Step step, std::function<DelayQueueSnapshot()> look);
  const PoolConfig& config() const;

  /// No more workers are started, and each is finished when its step is.
  void begin_stop();
  bool stopping() const;
  /// Those that run are asked to cut it short.
  void cut_short();
  std::stop_token job_stop() const;
  /// Waits until every loop is finished; deadline_exceeded, with how many, if that takes longer.
  Status join(Duration patience);
  std::size_t workers() const;
  /// Tells that so many jobs went with the pool because nobody took them back.
  void log_lost(std::size_t jobs) const;

  /// Runs the attempt, keeps what it threw from going further, counts and logs it.
  Outcome attempt(const std::function<Outcome()>& call);
  /// What is to be done after a failed attempt: the delay before the next one, or nothing.
  std::optional<Duration> after_failure(const Outcome& outcome, FailedAttempt failed);

  void count_enqueued();
  void count_done();
  void count_cancelled(std::uint64_t jobs);
  void count_handed_back(std::uint64_t jobs);
  /// `queued` is left to the caller.
  PoolCounts counts() const;
  std::vector<FailedAttempt> recent_failures() const;
  void collect(std::vector<Metric>& metrics) const;

 private:
  struct State;
  struct Loops;
  std::shared_ptr<State> state_;  // Shared with the loops, the last of which may outlive join().
};

}  // namespace detail

/// Lifecycle: runs from its construction on. stop() lets the workers do what is ready and gives
/// back what is not; the destructor stops and waits for every handler, however long that takes, so
/// a program that is in a hurry calls cut_short(), and handlers look at Work::stop.
/// Concurrency: every call from any thread, also from inside a handler (join() excepted).
/// Limits: those of its DelayQueue. A retry is never refused for lack of room: the queue may exceed
/// items_max by the number of workers.
/// Cost: a worker is a loop of the executor.
template <class T = std::string>
class Pool {
 public:
  /// `executor` outlives the pool. A wrong configuration stops the process.
  Pool(Executor& executor, PoolConfig config, Handler<T> handler)
      : Pool(executor, std::move(config),
             MakeHandler<T>([shared = std::make_shared<Handler<T>>(std::move(handler))] {
               return Handler<T>([shared](const Work<T>& work) { return (*shared)(work); });
             })) {}
  Pool(Executor& executor, PoolConfig config, MakeHandler<T> make_handler)
      : make_handler_(std::move(make_handler)), queue_(config.queue), core_(executor, config) {
    core_.start([this](const std::stop_token& stop, Duration wait) { return step(stop, wait); },
                [this] { return queue_.snapshot(); });
  }
  ~Pool() {
    core_.log_lost(stop().size());
    (void)core_.join(Duration::max());
    core_.log_lost(taken_back_.size());
  }

  /// As DelayQueue::enqueue; also `already_exists` for a dedup key that is held. A refused job is
  /// left in `work`.
  Result<Handle> enqueue(NewWork<T>&& work) {
    Job job{.id = work.id, .payload = std::move(work.payload)};
    auto handle = admit(job, work);
    if (!handle) work.payload = std::move(job.payload);
    return handle;
  }

  /// Takes a job that nobody works on out of the queue. Nothing if it is not there any more.
  std::optional<Undone<T>> cancel(Handle handle) {
    auto item = queue_.cancel(handle);
    if (!item) return std::nullopt;
    core_.count_cancelled(1);
    return undone(std::move(*item));
  }
  bool reschedule(Handle handle, Duration delay) { return queue_.reschedule(handle, delay); }
  /// Forgets every job that nobody works on; returns how many.
  std::size_t purge() {
    const std::size_t count = queue_.purge();
    core_.count_cancelled(count);
    return count;
  }

  /// Nothing is taken in any more. The workers do what is ready and then end. Returns what was
  /// scheduled; what would be tried again from now on is left to taken_back().
  std::vector<Undone<T>> stop() {
    std::vector<Undone<T>> back;
    for (auto& item : queue_.shut_down()) back.push_back(undone(std::move(item)));
    core_.count_handed_back(back.size());
    // After the queue: a worker that finds nothing may go only when nothing can come any more.
    core_.begin_stop();
    return back;
  }
  /// As stop(), and gives back what is ready as well; the handlers' Work::stop is requested.
  std::vector<Undone<T>> cut_short() {
    std::vector<Undone<T>> back = stop();
    const std::size_t scheduled = back.size();
    while (auto item = queue_.try_dequeue()) back.push_back(undone(std::move(*item)));
    core_.count_handed_back(back.size() - scheduled);
    core_.cut_short();
    return back;
  }
  /// After either: waits until the last worker has ended. `deadline_exceeded` if that takes longer
  /// than `patience`; it may be called again.
  Status join(Duration patience = Duration::max()) { return core_.join(patience); }
  /// The jobs whose attempts failed after stop(), and which have attempts left. Each once.
  std::vector<Undone<T>> taken_back() {
    const std::lock_guard lock(mutex_);
    return std::exchange(taken_back_, {});
  }

  std::size_t workers() const { return core_.workers(); }
  DelayQueueSnapshot snapshot() const { return queue_.snapshot(); }
  PoolCounts counts() const {
    PoolCounts counts = core_.counts();
    counts.queued = queue_.snapshot().depth;
    return counts;
  }
  /// The last failures_kept, newest first.
  std::vector<FailedAttempt> recent_failures() const { return core_.recent_failures(); }
  /// Its queue's metrics, `sluice_job_processing_duration_seconds`, `sluice_job_failures_total` (by
  /// whether the job was tried again), `sluice_jobs_done_total` and `sluice_pool_workers`.
  void collect(std::vector<Metric>& metrics) const {
    queue_.collect(metrics);
    core_.collect(metrics);
  }

 private:
  struct Job {
    std::string id = {};
    T payload;
    std::uint32_t attempt = 1;
    std::optional<Dedup::Hold> hold = {};
  };

  Result<Handle> admit(Job& job, const NewWork<T>& work) {
    if (!work.dedup_key.empty()) {
      job.hold = dedup_.hold(work.dedup_key);
      if (!job.hold)
        return error(Code::already_exists,
                     "a job of the key \"" + work.dedup_key + "\" is not over yet");
    }
    auto handle = queue_.enqueue(std::move(job), {.label = work.label,
                                                  .priority = work.priority,
                                                  .delay = work.delay,
                                                  .correlation_id = work.correlation_id});
    if (handle) core_.count_enqueued();
    return handle;
  }

  LoopStep step(const std::stop_token& stop, Duration wait_max) {
    if (stop.stop_requested()) return LoopStep::finished;
    // Before the queue is asked: if it is empty then, it stays so.
    const bool stopping = core_.stopping();
    auto item = queue_.dequeue(std::min(wait_max, core_.config().poll), stop);
    if (!item) return stopping ? LoopStep::finished : LoopStep::idle;
    run(*item);
    return LoopStep::again;
  }

  void run(Item<Job>& item) {
    Job& job = item.value;
    const Outcome outcome = core_.attempt([&] {
      return make_handler_()(Work<T>{.id = job.id,
                                     .correlation_id = item.correlation_id,
                                     .payload = job.payload,
                                     .attempt = job.attempt,
                                     .stop = core_.job_stop()});
    });
    if (outcome.kind() == Outcome::Kind::done) return core_.count_done();
    const auto delay = core_.after_failure(outcome, {.id = job.id,
                                                     .correlation_id = item.correlation_id,
                                                     .error = outcome.why(),
                                                     .type = outcome.type(),
                                                     .attempt = job.attempt});
    if (!delay) return;
    ++job.attempt;
    EnqueueOptions again{
        .label = item.label, .delay = *delay, .correlation_id = item.correlation_id};
    if (item.label.empty()) again.priority = item.priority;
    if (queue_.enqueue_again(std::move(job), again)) return;
    core_.count_handed_back(1);
    const std::lock_guard lock(mutex_);
    taken_back_.push_back(undone(std::move(item)));
    taken_back_.back().left = *delay;
  }

  Undone<T> undone(Item<Job>&& item) const {
    return {.id = std::move(item.value.id),
            .payload = std::move(item.value.payload),
            .attempts = item.value.attempt - 1,
            .priority = item.priority,
            .left = std::max(item.due - core_.config().queue.clock->mono(), Duration{}),
            .correlation_id = std::move(item.correlation_id)};
  }

  const MakeHandler<T> make_handler_;
  Dedup dedup_;
  DelayQueue<Job> queue_;
  std::mutex mutex_;
  std::vector<Undone<T>> taken_back_;  // Under mutex_.
  detail::PoolCore core_;
};

}  // namespace sluice::runtime
