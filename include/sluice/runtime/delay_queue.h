// SPDX-License-Identifier: MIT
// A queue in memory whose items have a priority and may be delayed.
//
//   DelayQueue<Report> queue({.name = "reports"});
//   SLUICE_TRY(queue.enqueue(std::move(report), {.label = "high"}));
//   SLUICE_TRY(queue.enqueue(std::move(other), {.delay = 30min}));
//   while (auto item = queue.dequeue(5s)) reconcile(item->value);
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/result.h>
#include <sluice/runtime/chunks.h>
#include <sluice/runtime/metrics.h>
#include <sluice/runtime/timers.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// The longest delay; a longer one is cut to it.
inline constexpr Duration kDelayMax = std::chrono::hours(24 * 365 * 10);
/// Items that enqueue_again() may put in beyond a queue's items_max.
inline constexpr std::size_t kAgainMax = 65'536;
/// The longest ageing interval.
inline constexpr Duration kAgeingMax = std::chrono::hours(24);

/// A name for a priority. Lower values are more urgent.
struct PriorityLabel {
  std::string name = {};
  std::int32_t priority = 0;
};

struct DelayQueueConfig {
  std::string name = "default";       ///< In logs and metrics.
  std::size_t items_max = 1'000'000;  ///< Ready and scheduled ones together; at least 1.
  /// More items than this are logged, once whenever the depth comes to exceed it; 0: never.
  std::size_t warn_depth = 0;
  std::vector<PriorityLabel> labels = {{"high", 0}, {"normal", 5}, {"low", 10}};
  std::string label = "normal";  ///< Of items that name neither label nor priority.
  /// Strict priority (0) starves what is less urgent while there is enough that is more so. With
  /// an interval, an item gains one step of priority for each that it has waited: it is overtaken
  /// only by items that became ready less than (its value - theirs) intervals after it.
  Duration ageing = {};
  const Clock* clock = &system_clock();
  LogSink log = {};
};

struct EnqueueOptions {
  std::string label = {};                     ///< One of the configured; or
  std::optional<std::int32_t> priority = {};  ///< a number, but not both.
  Duration delay = {};                        ///< At most 0: ready at once.
  std::string correlation_id = {};            ///< Kept with the item, for logs.
};

/// What the queue knows of an item besides its value.
struct ItemInfo {
  Handle handle = {};
  MonoTime enqueued_at = {};
  MonoTime due = {};  ///< enqueued_at plus the delay.
  std::int32_t priority = 0;
  std::string label = {};      ///< Empty if it was enqueued by number.
  std::uint64_t sequence = 0;  ///< Counts the items of the queue, from 1.
  std::string correlation_id = {};
};

template <class T>
struct Item : ItemInfo {
  T value;
};

/// All of one moment.
struct DelayQueueSnapshot {
  std::size_t depth = 0;  ///< ready + scheduled
  std::size_t ready = 0;
  std::size_t scheduled = 0;
  bool shut_down = false;
};

namespace detail {

/// The order, the waiting and the counting of a DelayQueue, without its values: those lie in the
/// template, by slot. A slot's value is touched only inside the calls' functions: by one thread at
/// a time, and the next one sees what the last one did.
class DelayCore {
 public:
  using AtSlot = std::function<void(std::uint32_t slot)>;

  explicit DelayCore(DelayQueueConfig config);
  ~DelayCore();
  DelayCore(const DelayCore&) = delete;
  DelayCore& operator=(const DelayCore&) = delete;

  /// `again`: an item that was in the queue before and is not subject to the capacity.
  struct Admission {
    bool again = false;
  };
  Result<Handle> enqueue(const EnqueueOptions& options, Admission admission, const AtSlot& put);
  std::optional<ItemInfo> dequeue(Duration timeout, const std::stop_token& stop,
                                  const AtSlot& take);
  std::optional<ItemInfo> cancel(Handle handle, const AtSlot& take);
  bool reschedule(Handle handle, Duration delay);
  /// Each scheduled item is handed to `take`.
  void shut_down(const std::function<void(const ItemInfo&, std::uint32_t slot)>& take);
  std::size_t purge(const AtSlot& take);
  DelayQueueSnapshot snapshot() const;
  void collect(std::vector<Metric>& metrics) const;
  const DelayQueueConfig& config() const;
  /// Above the number of every slot.
  std::size_t slots_max() const;

 private:
  struct State;
  void wake_for_arrival(MonoTime now);
  std::unique_ptr<State> state_;
};

}  // namespace detail

/// Items that are ready, by (priority, sequence), and items that are scheduled, by (due, priority,
/// sequence). An item whose time has come joins the ready ones, at the place of its sequence.
///
/// Lifecycle: open from the start; shut_down() ends it once and for all. Nothing may be inside a
/// call when it is destroyed.
/// Concurrency: every call may be made from any thread; so may many at once. A waiting dequeue()
/// sleeps: one of those that wait sleeps until the next item is due, the others until they are
/// needed. An idle queue wakes nobody.
/// Limits: items_max. What an item holds must move without throwing.
/// Cost: enqueue and cancel O(1) on the average, dequeue O(log n). Those who enqueue hold up nobody
/// but each other, unless somebody waits.
template <class T>
class DelayQueue {
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  /// A wrong configuration stops the process: labels that name nothing or twice the same, a default
  /// label that is none of them, items_max of 0, ageing that is negative or over kAgeingMax.
  explicit DelayQueue(DelayQueueConfig config = {})
      : core_(std::move(config)), values_(core_.slots_max()) {}

  /// Moves `value` into the queue, or leaves it as it was: `invalid_argument` for an unknown label,
  /// or a label and a number; `limit_exceeded` if the queue is full; `cancelled` if it was shut
  /// down.
  Result<Handle> enqueue(T&& value, const EnqueueOptions& options = {}) {
    return put(std::move(value), options, {});
  }
  Result<Handle> enqueue(const T& value, const EnqueueOptions& options = {}) {
    return put(T(value), options, {});
  }
  /// For an item that was in the queue before, and so has been admitted: the queue may be full, up
  /// to kAgainMax such items.
  Result<Handle> enqueue_again(T&& value, const EnqueueOptions& options) {
    return put(std::move(value), options, {.again = true});
  }

  /// The first ready item; waits for one until `timeout` is over. Empty only then, or once the
  /// queue is shut down and has nothing left, or when `stop` is requested.
  std::optional<Item<T>> dequeue(Duration timeout, const std::stop_token& stop = {}) {
    std::optional<T> value;
    auto info = core_.dequeue(timeout, stop, [&](std::uint32_t slot) { value = take(slot); });
    return join(std::move(info), std::move(value));
  }
  /// Without waiting.
  std::optional<Item<T>> try_dequeue() { return dequeue({}); }

  /// Takes the item out, ready or scheduled. Nothing if it is not there any more.
  std::optional<Item<T>> cancel(Handle handle) {
    std::optional<T> value;
    auto info = core_.cancel(handle, [&](std::uint32_t slot) { value = take(slot); });
    return join(std::move(info), std::move(value));
  }
  /// Makes the item, ready or scheduled, due after `delay` from now; it keeps its sequence and its
  /// handle. False if it is not there any more.
  bool reschedule(Handle handle, Duration delay) { return core_.reschedule(handle, delay); }

  /// From now on nothing is taken in; what is ready can still be dequeued. Returns what was
  /// scheduled, in the order of its times. Whoever waits comes back as soon as nothing is left.
  std::vector<Item<T>> shut_down() {
    std::vector<Item<T>> items;
    core_.shut_down(
        [&](const ItemInfo& info, std::uint32_t slot) { items.push_back({info, take(slot)}); });
    return items;
  }

  /// Forgets every item; returns how many.
  std::size_t purge() {
    return core_.purge([&](std::uint32_t slot) { (void)take(slot); });
  }

  DelayQueueSnapshot snapshot() const { return core_.snapshot(); }
  /// Adds `sluice_queue_depth` (by state) and `sluice_dequeue_latency_seconds`: from when an item
  /// was due until it was dequeued.
  void collect(std::vector<Metric>& metrics) const { core_.collect(metrics); }
  const DelayQueueConfig& config() const { return core_.config(); }

 private:
  Result<Handle> put(T&& value, const EnqueueOptions& options,
                     detail::DelayCore::Admission admission) {
    return core_.enqueue(options, admission,
                         [&](std::uint32_t slot) { values_.make(slot).emplace(std::move(value)); });
  }
  T take(std::uint32_t slot) {
    T value = std::move(*values_[slot]);
    values_[slot].reset();
    return value;
  }
  static std::optional<Item<T>> join(std::optional<ItemInfo> info, std::optional<T> value) {
    if (!info) return std::nullopt;
    return Item<T>{std::move(*info), std::move(*value)};
  }

  detail::DelayCore core_;
  Chunks<std::optional<T>> values_;  // By slot.
};

}  // namespace sluice::runtime
