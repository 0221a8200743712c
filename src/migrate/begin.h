// SPDX-License-Identifier: MIT
// How a ledger begins, and how listing begins again.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/ledger.h"
#include "migrate/tree.h"

namespace sluice::migrate {

/// Makes a new ledger, or checks that this one is of the same trees and rules: `invalid_argument`
/// names each difference. A new one has both roots pending; a destination that is not there counts
/// as empty. `not_found` if the source is not there. A root that is to be listed again is looked at
/// again itself.
Result<State> begin_ledger(kv::Store& store, const Settings& settings, Tree& src, Tree& dst);

/// What retry is to list again.
struct RetryWish {
  bool failed = false;  ///< Every directory that is failed or unknown by itself.
  bool all = false;
  std::vector<std::string> paths = {};  ///< Subtrees.
};
/// Marks them as pending, and what they are in, which is where their own attributes are listed; of
/// that, nothing else is listed again. Returns how many. `conflict` while something is pending: the
/// comparison is to be finished first; also if something is excluded in a directory that is to be
/// listed again, or above it: its counters were moved by what the ledger says now. `not_found` for
/// a path that is no directory in the ledger. Nothing is marked then. A State that was read before
/// is out of date afterwards: a sweep begins.
Result<std::uint64_t> mark_for_retry(kv::Store& store, const RetryWish& wish);

/// Removes from the ledger what is below directories that vanished, with its counters, piece by
/// piece. To be called before and after listing; returns how many directories there were.
Result<std::uint64_t> drop_vanished(kv::Store& store);

/// A directory of the source by its path; nothing if there is none. Costs a look at each block on
/// the way.
Result<std::optional<FolderId>> find_folder(kv::Store& store, std::string_view path);
}  // namespace sluice::migrate
