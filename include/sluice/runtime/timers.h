// SPDX-License-Identifier: MIT
// Things to do at a time, of which most are cancelled before it comes: deadlines, retries, expiry.
//
//   Timers<ConnectionId> idle;
//   const Handle handle = idle.add(clock.mono() + 60s, connection);
//   idle.reschedule(handle, clock.mono() + 60s);                 // It was heard from.
//   while (auto connection = idle.pop_due(clock.mono())) close(*connection);
//   sleep_until(idle.next_due());
#pragma once

#include <sluice/clock.h>
#include <sluice/runtime/heap.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// Names one timer or queued item. Never names another one later: when that has fired, was
/// cancelled or taken, the handle is spent and every call with it does nothing.
struct Handle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  ///< 0: names nothing.

  friend bool operator==(const Handle&, const Handle&) = default;
};

/// Values, each with the time when it is due. They come out in the order of their times, those of
/// one time in the order in which they got it.
///
/// Lifecycle: a plain container; it starts no thread and reads no clock. The owner of a loop asks
/// for next_due() and sleeps until then.
/// Concurrency: not thread-safe.
/// Limits: 2^32 - 1 values at once.
/// Cost: add, cancel and reschedule O(1) on the average, pop O(log n), next_due O(1) amortised. A
/// cancelled timer leaves 24 bytes behind until it would have fired or half of all are such.
template <class T>
class Timers {
 public:
  Handle add(MonoTime due, T value) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot].value.emplace(std::move(value));
    ++size_;
    arm(slot, due);
    return {.slot = slot, .generation = slots_[slot].generation};
  }

  /// The value, which is then forgotten; nothing if the handle is spent.
  std::optional<T> cancel(Handle handle) {
    if (!names(handle)) return std::nullopt;
    std::optional<T> value = release(handle.slot);
    ++dead_;
    sweep();
    return value;
  }

  /// The handle stays good. False if it is spent.
  bool reschedule(Handle handle, MonoTime due) {
    if (!names(handle)) return false;
    ++dead_;
    arm(handle.slot, due);
    sweep();
    return true;
  }

  /// The first value that is due at `now`, due == now included.
  std::optional<T> pop_due(MonoTime now) {
    drop_dead();
    if (heap_.empty() || heap_.top().due > now) return std::nullopt;
    const std::uint32_t slot = heap_.top().slot;
    heap_.pop();
    return release(slot);
  }

  /// When the first one is due; nothing if there is none.
  std::optional<MonoTime> next_due() {
    drop_dead();
    if (heap_.empty()) return std::nullopt;
    return heap_.top().due;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Slot {
    std::uint32_t generation = 1;
    std::uint64_t armed = 0;  ///< The order of its entry in the heap.
    std::optional<T> value = {};
  };
  struct Entry {
    MonoTime due = {};
    std::uint64_t order = 0;
    std::uint32_t slot = 0;

    bool before(const Entry& other) const {
      return due != other.due ? due < other.due : order < other.order;
    }
  };
  static constexpr std::size_t kDeadMin = 64;

  bool names(Handle handle) const {
    return handle.slot < slots_.size() && slots_[handle.slot].generation == handle.generation &&
           slots_[handle.slot].value.has_value();
  }
  bool alive(const Entry& entry) const { return slots_[entry.slot].armed == entry.order; }

  void arm(std::uint32_t slot, MonoTime due) {
    slots_[slot].armed = ++order_;
    heap_.push({.due = due, .order = order_, .slot = slot});
  }

  std::optional<T> release(std::uint32_t slot) {
    Slot& released = slots_[slot];
    std::optional<T> value = std::exchange(released.value, std::nullopt);
    released.armed = 0;
    if (++released.generation == 0) released.generation = 1;
    free_.push_back(slot);
    --size_;
    return value;
  }

  void drop_dead() {
    while (!heap_.empty() && !alive(heap_.top())) {
      heap_.pop();
      --dead_;
    }
  }
  void sweep() {
    if (dead_ < kDeadMin || dead_ < size_) return;
    heap_.keep_if([this](const Entry& entry) { return alive(entry); });
    dead_ = 0;
  }

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  Heap<Entry> heap_;
  std::uint64_t order_ = 0;
  std::size_t size_ = 0;
  std::size_t dead_ = 0;  ///< Entries of the heap whose timer was cancelled or armed anew.
};

}  // namespace sluice::runtime
