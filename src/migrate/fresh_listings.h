// SPDX-License-Identifier: MIT
// Listings of the source that were made a moment ago.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "migrate/ledger.h"

namespace sluice::migrate {

/// Hands small listings of the source to the comparisons that follow them, which would otherwise
/// read them back from the ledger. Holds the latest, up to kBytesMax: whoever finds nothing here
/// reads. It says nothing about whether a listing is durable. Thread-safe.
class FreshListings {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{2} << 20;

  struct Fresh {
    FolderBlock block = {};
    std::string chunk = {};  ///< The only one of its block; empty if it has none.
  };

  void put(FolderId id, Fresh fresh);
  /// What was put last, once.
  std::optional<Fresh> take(FolderId id);

 private:
  static std::size_t bytes_of(const Fresh& fresh) { return fresh.chunk.size() + kAroundBytes; }
  void forget_oldest() SLUICE_ANNOTATE(requires_capability(mutex_));

  /// What the containers add to each, about.
  static constexpr std::size_t kAroundBytes = 128;

  Mutex mutex_;
  std::unordered_map<FolderId, Fresh> all_ SLUICE_GUARDED_BY(mutex_);
  std::deque<FolderId> order_ SLUICE_GUARDED_BY(mutex_);  // Those that were taken are still in it.
  std::size_t bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice::migrate
