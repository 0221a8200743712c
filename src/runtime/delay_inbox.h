// SPDX-License-Identifier: MIT
// Where new items of a delay queue wait to be put in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "runtime/delay_order.h"

namespace sluice::runtime {

/// Those who enqueue only lay their items down here, under a lock of its own that is held for a few
/// instructions. Whoever holds the queue's lock and wants to know the order takes them all at once.
struct DelayInbox {
  explicit DelayInbox(DelaySlots& table) : slots(table) {}

  DelaySlots& slots;
  Mutex mutex;
  std::vector<std::uint32_t> arrived SLUICE_GUARDED_BY(mutex);
  std::vector<std::uint32_t> free SLUICE_GUARDED_BY(mutex);
  std::uint32_t made SLUICE_GUARDED_BY(mutex) = 0;  ///< Slots that exist.
  std::uint64_t sequence SLUICE_GUARDED_BY(mutex) = 0;
  bool shut_down SLUICE_GUARDED_BY(mutex) = false;
  std::atomic<bool> any{false};  ///< Whether something has arrived.

  std::uint32_t take_slot() SLUICE_ANNOTATE(requires_capability(mutex)) {
    if (free.empty()) {
      SLUICE_CHECK(made < slots.count_max());
      slots.make(made);
      return made++;
    }
    const std::uint32_t slot = free.back();
    free.pop_back();
    return slot;
  }
  void lay_down(std::uint32_t slot) SLUICE_ANNOTATE(requires_capability(mutex)) {
    arrived.push_back(slot);
    // Sequentially consistent, as is the look at who waits that follows: of one who enqueues and
    // one who is about to sleep, at least one sees the other. Who finds it set leaves it: it stays
    // so until what has arrived is taken, under this lock.
    if (!any.load(std::memory_order_relaxed)) any = true;
  }
  /// Swaps what has arrived into `to`, which is empty, and takes back `released` slots. Returns how
  /// many slots exist.
  std::uint32_t take(std::vector<std::uint32_t>& to, std::vector<std::uint32_t>& released) {
    const MutexLock lock(mutex);
    to.swap(arrived);
    free.insert(free.end(), released.begin(), released.end());
    released.clear();
    any = false;
    return made;
  }
};

}  // namespace sluice::runtime
