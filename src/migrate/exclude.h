// SPDX-License-Identifier: MIT
// Subtrees that a person takes out of the plan, and puts back.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::migrate {

/// Leaves what is at `path`, and everything below it, out of copy and delete. The counters of its
/// names move to `excluded` (of both sides) and, of those still to be copied, to `skipped`, in one
/// transaction with the record that says by how much, so that include() takes exactly that back:
/// the ledger is then, byte for byte, as if nothing had been excluded. `not_found` if the ledger
/// knows no such name; `already_exists` if it, or something above it, is excluded; `conflict` while
/// directories are pending, or if something below it was excluded before (include that first);
/// `invalid_argument` for the root. `path` is written as walk() tells it.
Status exclude(kv::Store& store, std::string_view path);
/// `not_found` if exactly this path was not excluded.
Status include(kv::Store& store, std::string_view path);
/// The paths that were excluded, in order.
Result<std::vector<std::string>> excluded_paths(kv::Store& store);

}  // namespace sluice::migrate
