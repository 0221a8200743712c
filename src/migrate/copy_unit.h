// SPDX-License-Identifier: MIT
// One piece of planned work: a directory, or a chunk of it, in one pass.
#pragma once

#include <sluice/result.h>

#include "migrate/copy_folder.h"

namespace sluice::migrate {

/// Does the work and says what came of it. Single names that fail are part of the outcome; a
/// failure is one of the ledger. Looks at CopyTask::stop between names.
Result<CopyUnitOutcome> run_unit(const CopyTask& task);

}  // namespace sluice::migrate
