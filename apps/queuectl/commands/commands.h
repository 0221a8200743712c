// SPDX-License-Identifier: MIT
// One function per group of commands, each in a file of its own, that describes and runs them.
#pragma once

#include <string_view>
#include <vector>

#include "cli/args.h"

namespace sluice::cli {

std::vector<Command> enqueue_commands();  ///< enqueue, import.
std::vector<Command> look_commands();     ///< list, show, status.
std::vector<Command> logs_commands();
std::vector<Command> wait_commands();
std::vector<Command> change_commands();  ///< cancel, retry, edit, hold, unhold.
std::vector<Command> queue_commands();   ///< pause, resume, purge.
std::vector<Command> dlq_commands();
std::vector<Command> worker_commands();
std::vector<Command> config_commands();
std::vector<Command> schedule_commands();
std::vector<Command> top_commands();
std::vector<Command> watch_commands();
std::vector<Command> metrics_commands();
std::vector<Command> health_commands();  ///< verify, doctor.
std::vector<Command> keep_commands();    ///< backup, compact, export.
std::vector<Command> completion_commands();
std::vector<Command> man_commands();

/// What completion scripts ask: words that there are, one per line. Not for people, so --help and
/// the rest do not know it.
Command complete_command();

}  // namespace sluice::cli
