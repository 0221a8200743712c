// SPDX-License-Identifier: MIT
// How a ledger begins, and how what vanished leaves it.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstdint>

#include "migrate/ledger.h"
#include "migrate/tree.h"

namespace sluice::migrate {

/// Makes a new ledger, or checks that this one is of the same trees and rules: `invalid_argument`
/// names each difference. A new one has both roots pending; a destination that is not there counts
/// as empty. `not_found` if the source is not there. A root that is to be listed again is looked at
/// again itself.
Result<State> begin_ledger(kv::Store& store, const Settings& settings, Tree& src, Tree& dst);

/// Removes from the ledger what is below directories that vanished, with its counters, piece by
/// piece. To be called before and after listing; returns how many directories there were.
Result<std::uint64_t> drop_vanished(kv::Store& store);

}  // namespace sluice::migrate
