// SPDX-License-Identifier: MIT
#include "cli/manual.h"

#include "queuectl/commands/commands.h"
#include "queuectl/config.h"
#include "queuectl/context.h"

namespace sluice::cli {
namespace {

std::string settings() {
  std::string text;
  for (const ConfigKey& key : config_keys())
    text += roff_entry(key.name, "",
                       std::string(key.help) + " (default " + std::string(key.standard) + ")");
  return text;
}

Manual manual() {
  return {.version = kVersion,
          .summary = "a durable job queue for the command line",
          .synopsis = ".B queuectl\n.I COMMAND\n.RI [ OPTIONS ]\n",
          .description =
              "Keeps jobs in a store on the disk, runs them with workers started in any\n"
              "terminal, retries those that fail, and keeps the output of every run.\n"
              "There is no daemon: every command opens the store itself.\n",
          .sections = {
              {"SETTINGS", settings()},
              {"EXIT STATUS",
               "0 ok, 1 failed, 2 wrong usage, 3 no such job or key, 4 conflict, 5 storage, 124 "
               "timed\nout, 130 and 143 interrupted.\n"},
              {"FILES",
               "\\fI~/.local/state/queuectl\\fR: the store, logs/ and locks; "
               "\\fI~/.config/queuectl/config\\fR:\nthe settings.\n"}}};
}

Result<int> man(Context& context, const Arguments&) {
  context.print(man_page(manual()));
  return kOk;
}

}  // namespace

std::vector<Command> man_commands() {
  return {{.name = "man",
           .alias = "",
           .arguments = "",
           .summary = "print the manual page",
           .details = "  queuectl man | man -l -",
           .options = {},
           .takes = Takes::nothing,
           .run = man}};
}

}  // namespace sluice::cli
