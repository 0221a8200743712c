// SPDX-License-Identifier: MIT
// Which directory may be listed next. Knows no threads, no trees and no store: it is told what was
// found and what became durable, and answers who may start.
#pragma once

#include <sluice/clock.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "migrate/folder_task.h"

namespace sluice::migrate {

/// Each side has at most so many tasks in memory; the others are in the ledger's index of pending
/// directories and are pulled from there. With rounds all of them are: a level must be known whole.
inline constexpr std::size_t kTasksMax = 8'192;

/// The gate: a directory of the destination may start once its source is durable. With rounds, the
/// seed's rule holds on top: a *round* is a level; neither side begins one before it has finished
/// the one above; the destination begins round n only when the source has come to round n + `lead`,
/// or is done; the source begins round n only when n <= the destination's round + `lead_max`.
struct GateRules {
  std::optional<std::uint32_t> lead = {};  ///< Nothing: no rounds.
  std::uint32_t lead_max = 10;             ///< At least `lead`; counts only with it.
  std::size_t tasks_max = kTasksMax;       ///< Counts only without it.
};

/// Lifecycle: fed with add() and pulled(), asked with next(), told of each task that it handed out
/// with again() or durable(). Concurrency: none; its owner locks. Memory: bounded by
/// `tasks_max` tasks a side, plus those handed out.
class Coordinator {
 public:
  explicit Coordinator(GateRules rules = {}) : rules_(rules) {}

  /// A task that was found; it is, or will be with the next commit, in the ledger. False: dropped,
  /// because there is no room; it is pulled later, once dropped_are_durable() has told of it.
  bool add(FolderTask task);
  /// The same, of a side's pending entries as they were at start or when needs_pull() said so.
  /// `all`: there were no others.
  struct Pull {
    Side side = Side::src;
    bool needed = false;
    std::size_t room = 0;
    std::uint64_t drops = 0;  ///< To be given back: tells whether something was dropped meanwhile.
  };
  /// Not while something that was dropped is not durable: a look at the ledger would not find it.
  Pull needs_pull() const;
  /// Before the ledger is looked at, until pulled(): what becomes durable meanwhile may still look
  /// pending there. One at a time.
  void begin_pull() { pulling_ = true; }
  bool pulling() const { return pulling_; }
  void pulled(const Pull& pull, std::vector<FolderTask> tasks, bool all);
  bool knows(Side side, FolderId id) const { return side_of(side).known.contains(id); }

  /// A task that may start now, lowest level first. `now`: for those that wait after a fault. A
  /// task of the destination whose source is not in memory is only handed out if `src_listed` says
  /// that its source is durable.
  using SrcListed = std::function<bool(const FolderTask&)>;
  std::optional<FolderTask> next(MonoTime now, const SrcListed& src_listed);
  /// How many tasks of the lowest level, of each side, wait for nothing but their turn, or for the
  /// gate.
  std::size_t ready() const;
  /// When the next waiting task may start; nothing if none waits.
  std::optional<MonoTime> next_due() const;

  /// It is to run again, not before `due`.
  void again(FolderTask task, MonoTime due);
  /// What came of it is on the disk. Only now may its counterpart be compared.
  void durable(const TaskName& task);
  /// So many tasks of a side that were dropped by add() are in the ledger now.
  void dropped_are_durable(Side side, std::uint64_t count);

  /// Nothing to do, nothing under way, nothing left in the ledger.
  bool done() const;
  /// The level that a side is at; nothing if it is done.
  std::optional<std::uint32_t> round(Side side) const;

 private:
  struct Lane {
    std::map<std::uint32_t, std::deque<FolderTask>> ready;  // By level.
    std::map<std::uint32_t, std::uint64_t> open;            // Known and not yet durable, by level.
    std::unordered_set<FolderId> known;
    std::size_t in_memory = 0;  // Ready, parked or waiting.
    bool more_in_ledger = true;
    std::uint64_t dropped = 0;
    std::uint64_t dropped_open = 0;  // Dropped, and not in the ledger yet.
  };

  Lane& side_of(Side side) { return lanes_[static_cast<std::size_t>(side)]; }
  const Lane& side_of(Side side) const { return lanes_[static_cast<std::size_t>(side)]; }
  bool lane_done(Side side) const;
  bool round_open(Side side, std::uint32_t level) const;
  std::size_t tasks_max() const { return rules_.lead ? SIZE_MAX : rules_.tasks_max; }
  std::optional<FolderTask> take(Side side, const SrcListed& src_listed);
  void put_ready(FolderTask task);

  GateRules rules_;
  std::array<Lane, 2> lanes_;
  std::unordered_map<FolderId, FolderTask>
      parked_;                                   // Of the destination: the source is not durable.
  std::multimap<MonoTime, FolderTask> waiting_;  // After a fault.
  bool pulling_ = false;
  std::array<std::unordered_set<FolderId>, 2> ended_;  // Durable since begin_pull(), by side.
};

}  // namespace sluice::migrate
