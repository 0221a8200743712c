// SPDX-License-Identifier: MIT
// How much room a store has left, and who may use it.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <optional>

#include "kv/lmdb/environment.h"
#include "kv/overlay.h"

namespace sluice::kv {

/// The readers of all processes, killed ones included.
struct Readers {
  std::uint64_t count = 0;
  /// The commit that the oldest one sees; the greatest number if nobody reads.
  std::uint64_t oldest = UINT64_MAX;
};
Readers look_at_readers(const Environment& environment);

/// Pages on the free list that the writer of `txn` can use. (Pages freed after the oldest reader
/// began, or by the very last commit, must wait.) Walks the free list: O(commits it remembers).
Result<std::uint64_t> reusable_pages(const Environment& environment, MDB_txn* txn);

/// All pages on the free list, as the reading transaction `txn` sees it.
Result<std::uint64_t> free_pages(MDB_txn* txn);

/// The room of one batch. The drain class may use all of it; the grow class must leave the reserve,
/// so that whoever wants to delete something always can. Without one, deleting from a full store
/// fails: LMDB copies every page that it changes.
class Space {
 public:
  /// Of the batch that has just begun `txn`; both references outlive the object.
  Space(const Environment& environment, MDB_txn* txn, std::uint64_t reserve_bytes);

  /// Whether writes of the grow class fit, and counts them against the room if they do. Never too
  /// optimistic. Cheap while the map is not nearly full.
  Result<bool> take(const Overlay& overlay);

  /// As take(), for the drain class: counts, and never refuses.
  void take_drain(const Overlay& overlay) { used_ = used_with(overlay); }

 private:
  struct Used {
    std::uint64_t copied = 0;
    std::uint64_t added = 0;
  };
  Used used_with(const Overlay& overlay) const;

  const Environment& environment_;
  MDB_txn* txn_;
  std::uint64_t depth_ = 0;            // Of the tree.
  std::uint64_t tree_ = 0;             // Its pages, but for those that hold a single large value.
  std::uint64_t reserve_ = 0;          // In pages, like all that follow.
  std::uint64_t tail_ = 0;             // Behind the last page that was ever used.
  std::optional<std::uint64_t> free_;  // On the free list; counted when the tail does not suffice.
  Used used_;                          // By the bodies of this batch.
};

}  // namespace sluice::kv
