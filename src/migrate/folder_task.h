// SPDX-License-Identifier: MIT
// One directory of one side: listed, compared, and turned into a change of the ledger.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "migrate/fresh_listings.h"
#include "migrate/ledger.h"
#include "migrate/tree.h"

namespace sluice::migrate {

/// A directory that is to be listed.
struct FolderTask {
  Side side = Side::src;
  std::uint32_t level = 0;
  FolderId id = 0;
  std::string path = {};
  PendingFolder pending = {};
  FolderStamp seen = {};   ///< By its parent's listing, if that was in this process.
  bool in_ledger = false;  ///< As pending: something of it may be written before it is done.
  bool leftovers = false;  ///< A process that was killed may have done so.
};

/// Which one.
struct TaskName {
  Side side = Side::src;
  std::uint32_t level = 0;
  FolderId id = 0;
};

inline TaskName name_of(const FolderTask& task) {
  return {.side = task.side, .level = task.level, .id = task.id};
}

/// What came of a task. The change holds everything: the directory's move, its block, its children.
struct FolderOutcome {
  Change change = {};
  /// To be listed next, on the same side. Also in the change.
  std::vector<FolderTask> children = {};
  /// The same directory once more: because of a fault, or because it has more children than one
  /// transaction should hold.
  std::optional<FolderTask> again = {};
  std::uint32_t failed_attempts = 0;  ///< With `again`: wait before the next attempt; 0: do not.
  std::uint64_t entries = 0;          ///< That were listed.
};

/// Children that one transaction makes pending. A directory with more takes several.
inline constexpr std::size_t kChildrenMax = 4'000;

/// Runs tasks. Any number of threads; what it refers to outlives it.
class FolderTasks {
 public:
  struct Context {
    kv::Store& store;
    Tree& src;
    Tree& dst;
    const Settings& settings;
    std::atomic<FolderId>& next_id;
    FreshListings& fresh;
    std::uint32_t attempts_max = 3;
    std::size_t listing_bytes_max = std::size_t{8} << 20;
  };
  explicit FolderTasks(const Context& context) : context_(context) {}

  /// Lists a directory of the source. Waits for the disk, never for the ledger's lock but to spill
  /// a huge listing.
  Result<FolderOutcome> list(const FolderTask& task);
  /// Lists a directory of the destination and compares it with the source's, whose block must be in
  /// the store.
  Result<FolderOutcome> compare(const FolderTask& task);

 private:
  Context context_;
};

/// The status under which a directory itself is counted on its side once it is not pending any
/// more; nothing for one that is not there.
std::optional<TraversalStatus> counted_as(Side side, const Folder& folder);
/// Moves the directory to pending: its counters, and its pending entry.
void make_pending(Change& change, Side side, const FolderTask& child,
                  const std::optional<Folder>& before);

}  // namespace sluice::migrate
