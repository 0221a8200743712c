// SPDX-License-Identifier: MIT
// What a traversal has found and not committed.
#pragma once

#include <sluice/clock.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "migrate/folder_task.h"
#include "migrate/ledger.h"

namespace sluice::migrate {

/// Outcomes of tasks in the order in which they were found, so that no child comes before its
/// parent. One thread at a time.
struct Uncommitted {
  std::vector<Change> changes;  ///< As many as there will be transactions.
  std::vector<TaskName> finished;
  std::vector<FolderTask> unfinished;  ///< To go on with what is in here: not before it is durable.
  std::array<std::uint64_t, 2> dropped = {};  ///< Tasks that are only in here, by side.
  std::size_t outcomes = 0;
  std::size_t bytes = 0;
  MonoTime since = {};

  bool empty() const { return outcomes == 0; }
  void add(Change& change) {
    const std::size_t more = change.bytes();
    if (changes.empty() ||
        (!changes.back().empty() && changes.back().bytes() + more > kChangeBytesMax))
      changes.emplace_back();
    change.move_to(changes.back());
    ++outcomes;
    bytes += more;
  }
  /// Keeps its memory, of the change that nearly always is the only one.
  void clear() {
    if (!changes.empty()) {
      changes.resize(1);
      changes.front().clear();
    }
    finished.clear();
    unfinished.clear();
    dropped = {};
    outcomes = bytes = 0;
  }
};

}  // namespace sluice::migrate
