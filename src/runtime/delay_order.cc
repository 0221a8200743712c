// SPDX-License-Identifier: MIT
#include "runtime/delay_order.h"

#include <algorithm>
#include <limits>

#include "base/mutant.h"

namespace sluice::runtime {
namespace {

constexpr std::size_t kDeadMin = 64;

}  // namespace

// An item of priority p that became ready at t overtakes one of q and u exactly if
// t + p * ageing < u + q * ageing: both gain on each other at the same pace, so that their order
// never changes while they wait, and a heap will do.
std::int64_t DelayOrder::key_of(const DelaySlot& item) const {
  if (ageing_ == Duration{}) return mutant("runtime.ready_order") ? -item.priority : item.priority;
  const auto key = static_cast<__int128>(item.due.time_since_epoch().count()) +
                   static_cast<__int128>(item.priority) * ageing_.count();
  constexpr __int128 kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr __int128 kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(key, kLeast, kMost));
}

void DelayOrder::make_ready(std::uint32_t slot) {
  DelaySlot& item = slots_[slot];
  item.lane = DelayLane::ready;
  ++item.version;
  ++ready_.live;
  ready_.heap.push(
      {.key = key_of(item), .sequence = item.sequence, .slot = slot, .version = item.version});
}

void DelayOrder::insert(std::uint32_t slot, MonoTime now) {
  DelaySlot& item = slots_[slot];
  if (item.at_once || item.due <= now) return make_ready(slot);
  item.lane = DelayLane::scheduled;
  ++item.version;
  ++scheduled_.live;
  scheduled_.heap.push({.due = item.due,
                        .sequence = item.sequence,
                        .priority = item.priority,
                        .slot = slot,
                        .version = item.version});
}

void DelayOrder::promote(MonoTime now) {
  while (scheduled_.live > 0) {
    drop_dead(scheduled_);
    if (scheduled_.heap.top().due > now) return;
    const std::uint32_t slot = scheduled_.heap.top().slot;
    scheduled_.heap.pop();
    --scheduled_.live;
    make_ready(slot);
  }
}

std::uint32_t DelayOrder::first_ready() {
  drop_dead(ready_);
  return ready_.heap.top().slot;
}

std::uint32_t DelayOrder::first_scheduled() {
  drop_dead(scheduled_);
  return scheduled_.heap.top().slot;
}

std::optional<MonoTime> DelayOrder::next_due() {
  if (scheduled_.live == 0) return std::nullopt;
  drop_dead(scheduled_);
  return scheduled_.heap.top().due;
}

void DelayOrder::remove(std::uint32_t slot) {
  DelaySlot& item = slots_[slot];
  const DelayLane lane = item.lane;
  item.lane = DelayLane::none;
  ++item.version;  // Its entry is dead.
  if (lane == DelayLane::ready) {
    --ready_.live;
    sweep(ready_);
  } else {
    --scheduled_.live;
    sweep(scheduled_);
  }
}

template <class Entry>
void DelayOrder::drop_dead(Index<Entry>& index) {
  while (!index.heap.empty() && !alive(index.heap.top())) index.heap.pop();
}

template <class Entry>
void DelayOrder::sweep(Index<Entry>& index) {
  // The one that goes is mostly the first: then its entry goes with it.
  drop_dead(index);
  const std::size_t dead = index.heap.size() - index.live;
  if (dead < kDeadMin || dead < index.live) return;
  index.heap.keep_if([this](const Entry& entry) { return alive(entry); });
}

}  // namespace sluice::runtime
