// SPDX-License-Identifier: MIT
// Which item of a delay queue comes next. No lock, no clock, no waiting.
#pragma once

#include <sluice/runtime/delay_queue.h>
#include <sluice/runtime/heap.h>

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/ready_lines.h"

namespace sluice::runtime {

enum class DelayLane : std::uint8_t { none, ready, scheduled };

/// What is known of an item, by its slot.
struct DelaySlot {
  MonoTime enqueued_at = {};
  MonoTime due = {};
  std::uint64_t sequence = 0;
  std::int32_t priority = 0;
  std::uint32_t generation = 1;
  std::uint32_t version = 0;  ///< Of its entry: all others of the slot are dead.
  std::uint16_t label = 0;    ///< One more than its number among the labels; 0: none.
  DelayLane lane = DelayLane::none;
  bool at_once = false;  ///< It was never delayed.
  std::string correlation_id = {};
};
using DelaySlots = Chunks<DelaySlot>;

/// Lines of ready items and a heap of scheduled ones, over slots. What is cancelled or rescheduled
/// leaves a dead entry, which is passed over when it comes up, or swept away when half of all are
/// such.
class DelayOrder {
 public:
  /// `slots` outlives it.
  DelayOrder(DelaySlots& slots, Duration ageing)
      : slots_(slots), ageing_(ageing), ready_(ageing > Duration{}) {}

  std::size_t ready() const { return ready_live_; }
  std::size_t scheduled() const { return scheduled_live_; }
  std::size_t depth() const { return ready_live_ + scheduled_live_; }

  DelaySlot& at(std::uint32_t slot) { return slots_[slot]; }
  /// Places the item by its due time: among the ready ones if that has come.
  void insert(std::uint32_t slot, MonoTime now);
  /// Whoever is due joins the ready ones.
  void promote(MonoTime now);
  /// The first ready item, which must be there; it stays.
  std::uint32_t first_ready();
  /// When the first scheduled one is due.
  std::optional<MonoTime> next_due();
  /// The first scheduled item, which must be there; it stays.
  std::uint32_t first_scheduled();

  /// The item leaves its lane, but keeps its slot.
  void remove(std::uint32_t slot);

 private:
  struct ScheduledEntry {
    MonoTime due = {};
    std::uint64_t sequence = 0;
    std::int32_t priority = 0;
    std::uint32_t slot = 0;
    std::uint32_t version = 0;
    bool before(const ScheduledEntry& other) const {
      if (due != other.due) return due < other.due;
      return priority != other.priority ? priority < other.priority : sequence < other.sequence;
    }
  };
  std::int64_t key_of(const DelaySlot& item) const;
  void make_ready(std::uint32_t slot);
  template <class Entry>
  bool alive(const Entry& entry) const {
    return slots_[entry.slot].version == entry.version;
  }
  void drop_dead();
  /// Whether so many of a heap's entries are dead that it is worth the walk.
  static bool worth_sweeping(std::size_t entries, std::size_t live);

  DelaySlots& slots_;
  const Duration ageing_;
  ReadyLines ready_;
  std::size_t ready_live_ = 0;
  Heap<ScheduledEntry> scheduled_;
  std::size_t scheduled_live_ = 0;
};

}  // namespace sluice::runtime
