// SPDX-License-Identifier: MIT
// The part that compare and run share: both trees are listed and compared, to the end.
#pragma once

#include <sluice/result.h>

#include <memory>

#include "migrate/ledger.h"
#include "sluice-migrate/context.h"
#include "sluice-migrate/signals.h"
#include "sluice-migrate/wishes.h"

namespace sluice::cli {

/// A ledger whose comparison is at its end.
struct Compared {
  OwnedLedger ledger;
  migrate::Settings settings;
  migrate::State state;
};

/// Makes the ledger or goes on with it. `cancelled` if it was interrupted: what was done is kept.
Result<Compared> compare_trees(const Context& context, CompareWish wish, const TellingWish& telling,
                               const Interrupts& interrupts);

/// Interrupts that tell the user what their first signal did.
Result<std::unique_ptr<Interrupts>> open_interrupts(const Context& context);

/// What an interrupted command ends with: a note, and the code.
int interrupted(const Context& context);

}  // namespace sluice::cli
