// SPDX-License-Identifier: MIT
#include "runtime/delay_order.h"

#include <algorithm>
#include <limits>

namespace sluice::runtime {
namespace {

constexpr std::size_t kDeadMin = 64;

}  // namespace

// An item of priority p that became ready at t overtakes one of q and u exactly if
// t + p * ageing < u + q * ageing: both gain on each other at the same pace, so that their order
// never changes while they wait, and a heap will do.
std::int64_t DelayOrder::key_of(const DelaySlot& item) const {
  if (ageing_ == Duration{}) return 0;
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
  ++ready_live_;
  ready_.push(
      item.priority,
      {.key = key_of(item), .sequence = item.sequence, .slot = slot, .version = item.version});
}

void DelayOrder::insert(std::uint32_t slot, MonoTime now) {
  DelaySlot& item = slots_[slot];
  if (item.at_once || item.due <= now) return make_ready(slot);
  item.lane = DelayLane::scheduled;
  ++item.version;
  ++scheduled_live_;
  scheduled_.push({.due = item.due,
                   .sequence = item.sequence,
                   .priority = item.priority,
                   .slot = slot,
                   .version = item.version});
}

void DelayOrder::promote(MonoTime now) {
  while (scheduled_live_ > 0) {
    drop_dead();
    if (scheduled_.top().due > now) return;
    const std::uint32_t slot = scheduled_.top().slot;
    scheduled_.pop();
    --scheduled_live_;
    make_ready(slot);
  }
}

std::uint32_t DelayOrder::first_ready() {
  return ready_.first([this](const ReadyEntry& entry) { return alive(entry); }).slot;
}

std::uint32_t DelayOrder::first_scheduled() {
  drop_dead();
  return scheduled_.top().slot;
}

std::optional<MonoTime> DelayOrder::next_due() {
  if (scheduled_live_ == 0) return std::nullopt;
  drop_dead();
  return scheduled_.top().due;
}

void DelayOrder::remove(std::uint32_t slot) {
  DelaySlot& item = slots_[slot];
  const DelayLane lane = item.lane;
  item.lane = DelayLane::none;
  ++item.version;  // Its entry is dead.
  if (lane == DelayLane::ready) {
    --ready_live_;
    if (worth_sweeping(ready_.size(), ready_live_))
      ready_.keep_if([this](const ReadyEntry& entry) { return alive(entry); });
  } else {
    --scheduled_live_;
    if (worth_sweeping(scheduled_.size(), scheduled_live_))
      scheduled_.keep_if([this](const ScheduledEntry& entry) { return alive(entry); });
  }
}

void DelayOrder::drop_dead() {
  while (!scheduled_.empty() && !alive(scheduled_.top())) scheduled_.pop();
}

bool DelayOrder::worth_sweeping(std::size_t entries, std::size_t live) {
  return entries - live >= kDeadMin && entries - live >= live;
}

}  // namespace sluice::runtime
