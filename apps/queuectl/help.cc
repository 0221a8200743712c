// SPDX-License-Identifier: MIT
#include "queuectl/help.h"

#include <array>

#include "cli/help.h"
#include "queuectl/commands/commands.h"

namespace sluice::cli {
namespace {

constexpr std::array<Option, 7> kGlobal{{
    {"--db", 0, "DIR", "where the jobs are; default $QUEUECTL_DB, else ~/.local/state/queuectl",
     Takes::folder},
    {"--json", 0, "", "print JSON and nothing else", Takes::nothing},
    {"--color", 0, "WHEN", "auto, always or never", Takes::text},
    {"--quiet", 'q', "", "print no messages, only results and errors", Takes::nothing},
    {"--verbose", 'v', "", "say more on standard error", Takes::nothing},
    {"--help", 'h', "", "explain the command", Takes::nothing},
    {"--version", 0, "", "print the version", Takes::nothing},
}};

}  // namespace

std::span<const Option> global_options() {
  return kGlobal;
}

std::string_view program_name() {
  return "queuectl";
}

std::string program_help() {
  std::string text =
      "queuectl: a durable job queue for the command line\n"
      "\n"
      "Usage: queuectl COMMAND [OPTIONS]\n"
      "\n"
      "  queuectl enqueue \"make -C site\"        enqueue a shell command\n"
      "  queuectl worker start --count 2        run jobs here until Ctrl-C\n"
      "  queuectl status                        what is waiting, running, done and dead\n"
      "\n"
      "Commands:\n";
  for (const Command& command : all_commands()) text += command_line(command);
  text += "\nOptions of every command:\n";
  for (const Option& option : global_options()) text += option_line(option);
  text +=
      "\n"
      "Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 no such job or key, 4 conflict (duplicate id,\n"
      "wrong state), 5 storage, 124 timed out, 130 and 143 interrupted.\n"
      "`queuectl COMMAND --help` explains a command and shows examples.\n";
  return text;
}

}  // namespace sluice::cli
