// SPDX-License-Identifier: MIT
// What all pieces of planned work share: both trees, the ledger, and what must happen once.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "base/mutex.h"
#include "migrate/copy_order.h"
#include "migrate/copying.h"
#include "migrate/filter.h"
#include "migrate/ledger.h"
#include "migrate/shared_loops.h"

namespace sluice::migrate {

/// Lives as long as a run. Thread-safe.
class CopyGround {
 public:
  struct Options {
    const Settings& settings;
    const CopyOptions& copy;
    CopyRules rules;
    CopyProgress& progress;
    bool resumed = false;            ///< An earlier run may have left temporary files.
    std::function<void()> announce;  ///< See SharedLoops.
  };
  static Result<std::unique_ptr<CopyGround>> open(kv::Store& store, const Options& options);

  kv::Store& store;
  Options options;
  Descriptor src;
  Descriptor dst;
  Filters filters;
  CopyProgress& progress;
  SharedLoops loops;

  /// Whether the directory, or something above it, was excluded by a person.
  Result<bool> is_excluded(FolderId id) const;
  bool is_excluded(FolderId folder, std::string_view name) const {
    return exclusions_.contains({folder, std::string(name)});
  }
  /// Removes what a killed run left there, once.
  void clean_once(FolderId id, int folder);
  /// The first to ask for a group of names of one file copies it; the others link to it later.
  bool leads(std::uint64_t device, std::uint64_t inode);

  explicit CopyGround(kv::Store& store_in, const Options& options_in)
      : store(store_in),
        options(options_in),
        progress(options_in.progress),
        loops(options_in.announce) {}

 private:
  std::set<std::pair<FolderId, std::string>> exclusions_;
  Mutex mutex_;
  std::set<FolderId> cleaned_ SLUICE_GUARDED_BY(mutex_);
  std::set<std::pair<std::uint64_t, std::uint64_t>> led_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::migrate
