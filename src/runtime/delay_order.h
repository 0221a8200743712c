// SPDX-License-Identifier: MIT
// Which item of a delay queue comes next. No lock, no clock, no waiting.
#pragma once

#include <sluice/runtime/delay_queue.h>
#include <sluice/runtime/heap.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// Two heaps over slots. What is cancelled or rescheduled leaves a dead entry in its heap, which is
/// passed over when it comes up, or swept away when half of all are such.
class DelayOrder {
 public:
  /// `slots` outlives it.
  DelayOrder(DelaySlots& slots, Duration ageing) : slots_(slots), ageing_(ageing) {}

  std::size_t ready() const { return ready_.live; }
  std::size_t scheduled() const { return scheduled_.live; }
  std::size_t depth() const { return ready_.live + scheduled_.live; }

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
  struct ReadyEntry {
    std::int64_t key = 0;  ///< The priority; with ageing the time when it counts as 0.
    std::uint64_t sequence = 0;
    std::uint32_t slot = 0;
    std::uint32_t version = 0;
    bool before(const ReadyEntry& other) const {
      // Without branches, which could not be foretold.
      return (static_cast<int>(key < other.key) |
              (static_cast<int>(key == other.key) & static_cast<int>(sequence < other.sequence))) !=
             0;
    }
  };
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
  template <class Entry>
  struct Index {
    Heap<Entry> heap;
    std::size_t live = 0;  ///< The others in the heap are dead.
  };

  std::int64_t key_of(const DelaySlot& item) const;
  void make_ready(std::uint32_t slot);
  template <class Entry>
  bool alive(const Entry& entry) const {
    return slots_[entry.slot].version == entry.version;
  }
  template <class Entry>
  void drop_dead(Index<Entry>& index);
  template <class Entry>
  void sweep(Index<Entry>& index);

  DelaySlots& slots_;
  const Duration ageing_;
  Index<ReadyEntry> ready_;
  Index<ScheduledEntry> scheduled_;
};

}  // namespace sluice::runtime
