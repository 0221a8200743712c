// SPDX-License-Identifier: MIT
#include "migrate/coordinator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::migrate {

void Coordinator::put_ready(FolderTask task) {
  side_of(task.side).ready[task.level].push_back(std::move(task));
}

bool Coordinator::add(FolderTask task) {
  Lane& lane = side_of(task.side);
  if (lane.known.contains(task.id)) return true;  // Pulled already.
  if (lane.in_memory >= tasks_max()) {
    lane.more_in_ledger = true;
    ++lane.dropped;
    ++lane.dropped_open;
    return false;
  }
  lane.known.insert(task.id);
  ++lane.open[task.level];
  ++lane.in_memory;
  put_ready(std::move(task));
  return true;
}

Coordinator::Pull Coordinator::needs_pull() const {
  Pull least;
  for (const Side side : {Side::src, Side::dst}) {
    const Lane& lane = side_of(side);
    if (!lane.more_in_ledger || lane.in_memory > tasks_max() / 4) continue;
    if (lane.dropped_open != 0) continue;
    if (least.needed && side_of(least.side).in_memory <= lane.in_memory) continue;
    least = {
        .side = side, .needed = true, .room = tasks_max() - lane.in_memory, .drops = lane.dropped};
  }
  return least;
}

void Coordinator::pulled(const Pull& pull, std::vector<FolderTask> tasks, bool all) {
  Lane& lane = side_of(pull.side);
  const std::unordered_set<FolderId>& ended = ended_[static_cast<std::size_t>(pull.side)];
  pulling_ = false;
  // What was dropped since may not have been in the ledger yet.
  if (all && pull.drops == lane.dropped) lane.more_in_ledger = false;
  for (FolderTask& task : tasks) {
    if (ended.contains(task.id) || !lane.known.insert(task.id).second) continue;
    ++lane.open[task.level];
    ++lane.in_memory;
    put_ready(std::move(task));
  }
  for (auto& side : ended_) side.clear();
}

bool Coordinator::lane_done(Side side) const {
  const Lane& lane = side_of(side);
  return lane.open.empty() && !lane.more_in_ledger;
}

std::optional<std::uint32_t> Coordinator::round(Side side) const {
  const Lane& lane = side_of(side);
  if (lane.open.empty()) return std::nullopt;
  return lane.open.begin()->first;
}

bool Coordinator::round_open(Side side, std::uint32_t level) const {
  if (!rules_.lead) return true;
  // A level that is not known whole may have its last directory still in the ledger.
  if (side_of(Side::src).more_in_ledger || side_of(Side::dst).more_in_ledger) return false;
  const auto own = round(side);
  if (own && level > *own) return false;
  const Side other_side = side == Side::src ? Side::dst : Side::src;
  if (lane_done(other_side)) return true;
  const std::uint32_t other = round(other_side).value_or(0);
  return side == Side::dst ? level + *rules_.lead <= other : level <= other + rules_.lead_max;
}

std::optional<FolderTask> Coordinator::take(Side side, const SrcListed& src_listed) {
  Lane& lane = side_of(side);
  while (!lane.ready.empty()) {
    const auto lowest = lane.ready.begin();
    if (!round_open(side, lowest->first)) return std::nullopt;
    FolderTask task = std::move(lowest->second.front());
    lowest->second.pop_front();
    if (lowest->second.empty()) lane.ready.erase(lowest);
    if (side == Side::dst) {
      const Lane& src = side_of(Side::src);
      const bool listed = !src.known.contains(task.id) && (!src.more_in_ledger || src_listed(task));
      if (!listed) {
        const FolderId id = task.id;
        parked_.emplace(id, std::move(task));
        continue;
      }
    }
    --lane.in_memory;
    return task;
  }
  return std::nullopt;
}

std::optional<FolderTask> Coordinator::next(MonoTime now, const SrcListed& src_listed) {
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    auto first = waiting_.extract(waiting_.begin());
    put_ready(std::move(first.mapped()));
  }
  // The destination first: it follows as closely as it may.
  if (auto task = take(Side::dst, src_listed)) return task;
  return take(Side::src, src_listed);
}

std::size_t Coordinator::ready() const {
  std::size_t count = 0;
  for (const Lane& lane : lanes_)
    if (!lane.ready.empty()) count += lane.ready.begin()->second.size();
  return count;
}

std::optional<MonoTime> Coordinator::next_due() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->first;
}

void Coordinator::again(FolderTask task, MonoTime due) {
  ++side_of(task.side).in_memory;
  waiting_.emplace(due, std::move(task));
}

void Coordinator::durable(const TaskName& task) {
  Lane& lane = side_of(task.side);
  lane.known.erase(task.id);
  if (pulling_) ended_[static_cast<std::size_t>(task.side)].insert(task.id);
  const auto open = lane.open.find(task.level);
  SLUICE_CHECK(open != lane.open.end());
  if (--open->second == 0) lane.open.erase(open);
  if (task.side == Side::dst) return;
  if (auto parked = parked_.extract(task.id)) put_ready(std::move(parked.mapped()));
}

void Coordinator::dropped_are_durable(Side side, std::uint64_t count) {
  Lane& lane = side_of(side);
  SLUICE_CHECK(lane.dropped_open >= count);
  lane.dropped_open -= count;
}

bool Coordinator::done() const {
  return lane_done(Side::src) && lane_done(Side::dst);
}

}  // namespace sluice::migrate
