// SPDX-License-Identifier: MIT
// How listing begins again.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/ledger.h"

namespace sluice::migrate {

/// What retry is to list again.
struct RetryWish {
  /// Every directory that is failed or unknown by itself; and, without what is below them, those
  /// with names that could not be looked at, or that the copy refused because they had changed.
  bool failed = false;
  bool all = false;
  std::vector<std::string> paths = {};  ///< Subtrees.
};
/// Marks them as pending, and what they are in, which is where their own attributes are listed; of
/// that, nothing else is listed again. On the destination a directory is compared by what the one
/// that it is in says of it, so of several below one another only the highest becomes pending, and
/// leads to the others over those between them. Returns how many were asked for. `conflict` while
/// something is pending: the comparison is to be finished first; also if something is excluded in a
/// directory that is to be listed again, beside or above it: its counters were moved by what the
/// ledger says now. `not_found` for a path that is no directory in the ledger. Nothing is marked
/// then. A State that was read before is out of date afterwards: a sweep begins.
Result<std::uint64_t> mark_for_retry(kv::Store& store, const RetryWish& wish);

/// A directory of the source by its path; nothing if there is none. Costs a look at each block on
/// the way.
Result<std::optional<FolderId>> find_folder(kv::Store& store, std::string_view path);

}  // namespace sluice::migrate
