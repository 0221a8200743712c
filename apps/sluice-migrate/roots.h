// SPDX-License-Identifier: MIT
// The two trees of a comparison, opened.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <memory>
#include <string>

#include "migrate/ledger.h"
#include "migrate/tree.h"

namespace sluice::cli {

struct Roots {
  std::unique_ptr<migrate::Tree> src;
  std::unique_ptr<migrate::Tree> dst;
};

/// "sim:...": a tree that is made up.
bool is_simulated(std::string_view root);

/// Makes the roots of `settings` absolute, as the ledger keeps them, and free of symbolic links.
/// `not_found` if the source is not there; a destination need not be. `invalid_argument`, with what
/// to do, if one is inside the other, both are the same, or `state`, the folder of the ledger, is
/// inside of one.
Status resolve_roots(migrate::Settings& settings, const std::string& state);

/// Opens what resolve_roots() made of them. A destination that is not there is a tree whose root
/// cannot be found. `clock` outlives them.
Result<Roots> open_roots(const migrate::Settings& settings, const Clock& clock);

}  // namespace sluice::cli
