// SPDX-License-Identifier: MIT
// Which jobs a verb is about: those that are named, or all of a kind.
#pragma once

#include <sluice/queue.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "queuectl/context.h"
#include "queuectl/job_view.h"

namespace sluice::cli {

/// --queue, --all, --state, --group, --label.
std::vector<Option> selection_options();

/// The jobs that the words name; with --all those in `states` (or in --state, which must be among
/// them) that the other options let through.
Result<std::vector<queue::JobRef>> select_jobs(Context& context, const Arguments& arguments,
                                               std::span<const State> states);

/// Does something to each job, 1,000 per transaction, and says how it went: each failure on
/// standard error, the number of the others in a line such as "3 jobs cancelled". The exit code is
/// that of the first failure.
using Verb = std::function<std::vector<Status>(std::span<const queue::JobRef>)>;
Result<int> apply(Context& context, std::span<const queue::JobRef> jobs, std::string_view past,
                  const Verb& verb);

}  // namespace sluice::cli
