// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/clock.h>

#include <span>
#include <string>

#include "queuectl/context.h"
#include "queuectl/job_view.h"

namespace sluice::cli {

/// Removes the finished jobs of these states, with the output of their runs, that have been
/// finished for longer than `older_than`, and says how many.
Result<int> purge(Context& context, const std::string& queue, std::span<const State> states,
                  Duration older_than);

}  // namespace sluice::cli
