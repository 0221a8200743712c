// SPDX-License-Identifier: MIT
// An ordered map that remembers its past, for as long as somebody still looks at it.
#pragma once

#include <sluice/kv.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "kv/intervals.h"
#include "kv/overlay.h"
#include "kv/view.h"

namespace sluice::kv {

/// Every commit makes a new version, numbered 1, 2, 3, ...; a pinned version can be read until it
/// is unpinned. Thread-safe: each call is atomic, and none waits for a reader.
class Versions {
 public:
  using Version = std::uint64_t;

  Version latest() const;
  /// Pins the latest version and returns it. Every pin needs its unpin.
  Version pin();
  void unpin(Version version);

  std::optional<std::string> get(std::string_view key, Version at) const;
  /// Up to `limit` entries of the scan, from its near end.
  std::vector<KeyValue> page(const View::Scan& scan, std::size_t limit, Version at) const;

  /// Whether a commit after `since` wrote or erased any key of `reads`. `since` must be pinned.
  bool written_since(const Intervals& reads, Version since) const;

  /// Applies the overlay as the next version, unless `reads` were written after `since`: then it
  /// returns nothing. Null `reads`: unconditional. The stamp is the version (8 bytes) and zeros.
  std::optional<Commit> commit(const Overlay& overlay, std::uint16_t epoch, const Intervals* reads,
                               Version since);

  /// Forgets every version after `version`, which must be pinned and becomes the latest; no later
  /// one may be pinned.
  void rewind(Version version);

 private:
  struct Value {
    Version version;
    std::optional<std::string> bytes;  // Nothing: erased in this version.
  };
  using Map = std::map<std::string, std::vector<Value>, std::less<>>;
  using Spans = std::vector<std::pair<std::string, std::string>>;
  struct Written {
    Version version;
    Spans spans;
  };
  class Writer;

  static const std::optional<std::string>* at_version(const std::vector<Value>& values, Version at);
  Version oldest_pinned() const SLUICE_ANNOTATE(requires_capability(mutex_));
  void trim() SLUICE_ANNOTATE(requires_capability(mutex_));
  void trim_key(const std::string& key, Version oldest)
      SLUICE_ANNOTATE(requires_capability(mutex_));
  bool written_since_locked(const Intervals& reads, Version since) const
      SLUICE_ANNOTATE(requires_capability(mutex_));

  mutable Mutex mutex_;
  Version latest_ SLUICE_GUARDED_BY(mutex_) = 0;
  Map map_ SLUICE_GUARDED_BY(mutex_);
  std::multiset<Version> pinned_ SLUICE_GUARDED_BY(mutex_);
  // What each commit since the oldest pin wrote: the other side of a conflict.
  std::deque<Written> written_ SLUICE_GUARDED_BY(mutex_);
  // Keys with old values to drop once nobody looks at a version before this one.
  std::deque<std::pair<Version, std::string>> stale_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kv
