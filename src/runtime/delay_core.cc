// SPDX-License-Identifier: MIT
// The lock of a delay queue, and those who wait for it.
#include <algorithm>
#include <atomic>
#include <set>

#include "base/check.h"
#include "base/histogram.h"
#include "base/mutex.h"
#include "runtime/collect.h"
#include "runtime/delay_inbox.h"
#include "runtime/delay_order.h"

namespace sluice::runtime::detail {
namespace {

/// Somebody who waits in dequeue(). Whoever wakes it takes it off the list first, so that no two
/// wake the same one for two items. Its word is set under the lock: without it the waiter, whose
/// time may be over, could be gone.
struct Waiter {
  std::atomic<std::uint32_t> woken{0};
};

/// Without the lock. Only the address is used: if the waiter is gone, this wakes nobody.
void wake(const Waiter* waiter) {
  if (waiter != nullptr) Clock::wake(waiter->woken);
}

void check_config(const DelayQueueConfig& config) {
  SLUICE_CHECK(config.items_max > 0);
  SLUICE_CHECK(config.clock != nullptr);
  SLUICE_CHECK(config.ageing >= Duration{} && config.ageing <= kAgeingMax);
  std::set<std::string> names;
  for (const PriorityLabel& label : config.labels)
    SLUICE_CHECK(!label.name.empty() && names.insert(label.name).second);
  SLUICE_CHECK(names.contains(config.label));
}

}  // namespace

struct DelayCore::State {
  explicit State(DelayQueueConfig given)
      : config(std::move(given)),
        slots(2 * (config.items_max + kAgainMax)),
        inbox(slots),
        order(slots, config.ageing) {}

  const DelayQueueConfig config;
  /// Twice as many as there are items at most: between two visits to the inbox, every item that was
  /// in order may have left its slot, and as many may have come.
  DelaySlots slots;
  DelayInbox inbox;
  /// Added to under the inbox's lock, taken from under the other.
  std::atomic<std::size_t> depth{0};
  std::atomic<std::size_t> waiting{0};  ///< Inside the wait of dequeue().

  mutable Mutex mutex;  ///< Taken before the inbox's.
  DelayOrder order SLUICE_GUARDED_BY(mutex);
  std::vector<std::uint32_t> arrived SLUICE_GUARDED_BY(mutex);   ///< Of drain(), for its memory.
  std::vector<std::uint32_t> released SLUICE_GUARDED_BY(mutex);  ///< On their way to the inbox.
  std::uint32_t known SLUICE_GUARDED_BY(mutex) = 0;              ///< Slots that may be looked at.
  std::vector<Waiter*> waiters SLUICE_GUARDED_BY(mutex);
  /// Of those who wait, the one that sleeps only until the next item is due.
  Waiter* timekeeper SLUICE_GUARDED_BY(mutex) = nullptr;
  MonoTime watched SLUICE_GUARDED_BY(mutex) = {};  ///< Until when it sleeps.
  bool shut_down SLUICE_GUARDED_BY(mutex) = false;
  Histogram latency;

  /// Puts in order what has arrived, and what is due among the ready.
  void drain(MonoTime now) SLUICE_ANNOTATE(requires_capability(mutex)) {
    if (inbox.any) {
      known = inbox.take(arrived, released);
      for (const std::uint32_t slot : arrived) order.insert(slot, now);
      arrived.clear();
    }
    if (order.scheduled() > 0) order.promote(now);
  }

  /// Takes one who waits off the list, to be woken once the lock is released. The last who came is
  /// the one whose memory is still warm.
  Waiter* take_waiter() SLUICE_ANNOTATE(requires_capability(mutex)) {
    if (waiters.empty()) return nullptr;
    Waiter* const waiter = waiters.back();
    waiters.pop_back();
    waiter->woken = 1;
    return waiter;
  }
  /// Whom to wake as things are: one for what is ready; one to watch the next due time, if nobody
  /// does or not early enough. Called by whoever changes something, and by whoever leaves.
  Waiter* successor() SLUICE_ANNOTATE(requires_capability(mutex)) {
    if (order.ready() > 0) return take_waiter();
    const auto due = order.next_due();
    if (!due) return nullptr;
    if (timekeeper == nullptr) return take_waiter();
    if (*due >= watched) return nullptr;
    std::erase(waiters, timekeeper);
    timekeeper->woken = 1;
    return timekeeper;
  }

  ItemInfo info_of(std::uint32_t slot) SLUICE_ANNOTATE(requires_capability(mutex)) {
    DelaySlot& item = slots[slot];
    return {.handle = {.slot = slot, .generation = item.generation},
            .enqueued_at = item.enqueued_at,
            .due = item.due,
            .priority = item.priority,
            .label = item.label > 0 ? config.labels[item.label - 1].name : std::string(),
            .sequence = item.sequence,
            .correlation_id = std::move(item.correlation_id)};
  }
  /// The item leaves the queue, and its slot is anybody's.
  ItemInfo take_out(std::uint32_t slot, const AtSlot& take)
      SLUICE_ANNOTATE(requires_capability(mutex)) {
    ItemInfo info = info_of(slot);
    order.remove(slot);
    take(slot);
    DelaySlot& item = slots[slot];
    item.correlation_id.clear();
    if (++item.generation == 0) item.generation = 1;
    released.push_back(slot);
    depth.fetch_sub(1, std::memory_order_relaxed);
    return info;
  }
  /// Whether the handle names an item that is in order.
  bool names(Handle handle) SLUICE_ANNOTATE(requires_capability(mutex)) {
    if (handle.slot >= known) return false;
    const DelaySlot& item = slots[handle.slot];
    return item.generation == handle.generation && item.lane != DelayLane::none;
  }
};

namespace {

/// One more than the number of the label; 0 if the item has a priority of its own.
Result<std::uint16_t> label_of(const DelayQueueConfig& config, const EnqueueOptions& options) {
  if (options.priority && !options.label.empty())
    return error(Code::invalid_argument, "give a priority or a label, not both");
  if (options.priority) return std::uint16_t{0};
  const std::string& name = options.label.empty() ? config.label : options.label;
  const auto label = std::ranges::find(config.labels, name, &PriorityLabel::name);
  if (label != config.labels.end())
    return static_cast<std::uint16_t>(label - config.labels.begin() + 1);
  std::string known;
  for (const PriorityLabel& one : config.labels) known += (known.empty() ? "" : ", ") + one.name;
  return error(Code::invalid_argument,
               "queue \"" + config.name + "\" has no label \"" + name + "\": it has " + known);
}

}  // namespace

DelayCore::DelayCore(DelayQueueConfig config) {
  check_config(config);
  state_ = std::make_unique<State>(std::move(config));
}

DelayCore::~DelayCore() = default;

const DelayQueueConfig& DelayCore::config() const {
  return state_->config;
}

std::size_t DelayCore::slots_max() const {
  return state_->slots.count_max();
}

Result<Handle> DelayCore::enqueue(const EnqueueOptions& options, Admission admission,
                                  const AtSlot& put) {
  State& state = *state_;
  const DelayQueueConfig& config = state.config;
  SLUICE_LET(label, label_of(config, options));
  const MonoTime now = config.clock->mono();
  Handle handle;
  std::size_t depth = 0;
  {
    const MutexLock lock(state.inbox.mutex);
    if (state.inbox.shut_down)
      return error(Code::cancelled, "queue \"" + config.name + "\" was shut down");
    depth = state.depth.load(std::memory_order_relaxed);
    if (depth >= config.items_max + (admission.again ? kAgainMax : 0))
      return error(Code::limit_exceeded, "queue \"" + config.name + "\" has its " +
                                             std::to_string(depth) +
                                             " items: wait until some are done");
    const std::uint32_t slot = state.inbox.take_slot();
    DelaySlot& item = state.slots[slot];
    item.enqueued_at = now;
    item.at_once = options.delay <= Duration{};
    item.due = now + std::clamp(options.delay, Duration{}, kDelayMax);
    item.sequence = ++state.inbox.sequence;
    item.label = label;
    item.priority = label > 0 ? config.labels[label - 1].priority : *options.priority;
    item.correlation_id = options.correlation_id;
    handle = {.slot = slot, .generation = item.generation};
    put(slot);
    state.depth.fetch_add(1, std::memory_order_relaxed);
    state.inbox.lay_down(slot);
  }
  if (state.waiting > 0) wake_for_arrival(now);
  if (config.warn_depth > 0 && depth == config.warn_depth && config.log)
    config.log(LogLevel::warning, "queue \"" + config.name + "\" has more than " +
                                      std::to_string(config.warn_depth) + " items");
  return handle;
}

void DelayCore::wake_for_arrival(MonoTime now) {
  Waiter* waiter = nullptr;
  {
    const MutexLock lock(state_->mutex);
    state_->drain(now);
    waiter = state_->successor();
  }
  wake(waiter);
}

std::optional<ItemInfo> DelayCore::dequeue(Duration timeout, const std::stop_token& stop,
                                           const AtSlot& take) {
  State& state = *state_;
  MonoTime now = state.config.clock->mono();
  const MonoTime deadline = now + std::clamp(timeout, Duration{}, kDelayMax);
  std::optional<ItemInfo> info;
  Waiter* next = nullptr;
  {
    MutexLock lock(state.mutex);
    for (;;) {
      state.drain(now);
      if (state.order.ready() > 0) {
        info = state.take_out(state.order.first_ready(), take);
        break;
      }
      if (state.shut_down || now >= deadline || stop.stop_requested()) break;
      Waiter self;
      MonoTime until = deadline;
      if (const auto due = state.order.next_due(); due && state.timekeeper == nullptr) {
        state.timekeeper = &self;
        until = state.watched = std::min(until, *due);
      }
      state.waiters.push_back(&self);
      ++state.waiting;
      // Whoever lays something down from here on sees that somebody waits.
      if (!state.inbox.any) {
        lock.unlock();
        const std::stop_callback on_stop(stop, [&self] {
          self.woken = 1;
          wake(&self);
        });
        state.config.clock->wait(self.woken, 0, until);
        now = state.config.clock->mono();
        lock.lock();
      }
      --state.waiting;
      std::erase(state.waiters, &self);
      if (state.timekeeper == &self) state.timekeeper = nullptr;
    }
    next = state.successor();
  }
  wake(next);
  if (info)
    state.latency.record(
        static_cast<std::uint64_t>(std::max<std::int64_t>((now - info->due).count(), 0)));
  return info;
}

std::optional<ItemInfo> DelayCore::cancel(Handle handle, const AtSlot& take) {
  State& state = *state_;
  const MonoTime now = state.config.clock->mono();
  const MutexLock lock(state.mutex);
  state.drain(now);
  if (!state.names(handle)) return std::nullopt;
  return state.take_out(handle.slot, take);
}

bool DelayCore::reschedule(Handle handle, Duration delay) {
  State& state = *state_;
  const MonoTime now = state.config.clock->mono();
  Waiter* waiter = nullptr;
  {
    const MutexLock lock(state.mutex);
    state.drain(now);
    if (!state.names(handle)) return false;
    state.order.remove(handle.slot);
    DelaySlot& item = state.slots[handle.slot];
    item.at_once = false;
    item.due = now + std::clamp(delay, Duration{}, kDelayMax);
    state.order.insert(handle.slot, now);
    waiter = state.successor();
  }
  wake(waiter);
  return true;
}

void DelayCore::shut_down(const std::function<void(const ItemInfo&, std::uint32_t slot)>& take) {
  State& state = *state_;
  const MonoTime now = state.config.clock->mono();
  std::vector<Waiter*> waiters;
  {
    const MutexLock lock(state.mutex);
    state.shut_down = true;
    {
      const MutexLock inbox_lock(state.inbox.mutex);
      state.inbox.shut_down = true;
    }
    state.drain(now);
    while (state.order.scheduled() > 0) {
      const std::uint32_t slot = state.order.first_scheduled();
      const ItemInfo info = state.info_of(slot);
      state.take_out(slot, [&](std::uint32_t at) { take(info, at); });
    }
    waiters.swap(state.waiters);
    for (Waiter* waiter : waiters) waiter->woken = 1;
  }
  for (const Waiter* waiter : waiters) wake(waiter);
}

std::size_t DelayCore::purge(const AtSlot& take) {
  State& state = *state_;
  const MonoTime now = state.config.clock->mono();
  const MutexLock lock(state.mutex);
  state.drain(now);
  const std::size_t count = state.order.depth();
  while (state.order.ready() > 0) state.take_out(state.order.first_ready(), take);
  while (state.order.scheduled() > 0) state.take_out(state.order.first_scheduled(), take);
  return count;
}

DelayQueueSnapshot DelayCore::snapshot() const {
  State& state = *state_;
  const MonoTime now = state.config.clock->mono();
  const MutexLock lock(state.mutex);
  state.drain(now);
  return {.depth = state.order.depth(),
          .ready = state.order.ready(),
          .scheduled = state.order.scheduled(),
          .shut_down = state.shut_down};
}

void DelayCore::collect(std::vector<Metric>& metrics) const {
  const DelayQueueSnapshot now = snapshot();
  const std::string& name = state_->config.name;
  const auto depth = [&](const char* of, std::size_t value) {
    metrics.push_back({.name = "sluice_queue_depth",
                       .help = "Items in the queue.",
                       .labels = {{"queue", name}, {"state", of}},
                       .value = static_cast<double>(value)});
  };
  depth("ready", now.ready);
  depth("scheduled", now.scheduled);
  metrics.push_back(seconds_metric("sluice_dequeue_latency_seconds",
                                   "From when an item was due until it was dequeued.",
                                   {{"queue", name}}, state_->latency));
}

}  // namespace sluice::runtime::detail
