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

/// All of them, in the order in which --help shows them.
const std::vector<Command>& all_commands();
/// The command that the words begin with, by name or alias, and how many words that takes.
struct FoundCommand {
  const Command* command = nullptr;
  std::size_t words = 0;
};
FoundCommand find_command(const std::vector<std::string>& words);

/// What completion scripts ask for: prints "jobs" (of the queue), "queues" or "workers", one per
/// line.
Result<int> complete_words(Context& context, std::string_view what, const std::string& queue);

}  // namespace sluice::cli
