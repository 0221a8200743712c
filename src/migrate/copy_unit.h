// SPDX-License-Identifier: MIT
// One piece of planned work: a directory, or a chunk of it, in one pass.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/mutex.h"
#include "migrate/copy_order.h"
#include "migrate/copying.h"
#include "migrate/filter.h"
#include "migrate/ledger.h"

namespace sluice::migrate {

/// What came of a unit: to be committed once it is on the disk.
struct CopyUnitOutcome {
  Change change = {};
  /// The counters of this directory's names that move, kept in its destination's record too.
  std::map<FolderId, Tallies> moved = {};
  bool complete = true;       ///< Nothing of it is left to try; otherwise it stays planned.
  std::uint64_t deleted = 0;  ///< Entries.
};

/// What all units of a run share. Thread-safe.
class CopyGround {
 public:
  struct Options {
    const Settings& settings;
    const CopyOptions& copy;
    CopyRules rules;
    CopyProgress& progress;
    bool resumed = false;  ///< An earlier run may have left temporary files.
  };
  static Result<std::unique_ptr<CopyGround>> open(kv::Store& store, const Options& options);

  kv::Store& store;
  Options options;
  Descriptor src;
  Descriptor dst;
  Filters filters;
  CopyProgress& progress;

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
      : store(store_in), options(options_in), progress(options_in.progress) {}

 private:
  std::set<std::pair<FolderId, std::string>> exclusions_;
  Mutex mutex_;
  std::set<FolderId> cleaned_ SLUICE_GUARDED_BY(mutex_);
  std::set<std::pair<std::uint64_t, std::uint64_t>> led_ SLUICE_GUARDED_BY(mutex_);
};

/// Does the work and says what came of it. Single names that fail are part of the outcome; a
/// failure is one of the ledger. Looks at `stop` between names. `deletes_left`: of --max-delete.
Result<CopyUnitOutcome> run_unit(CopyGround& ground, const WorkKey& work,
                                 const std::stop_token& stop, std::uint64_t deletes_left);

}  // namespace sluice::migrate
