// SPDX-License-Identifier: MIT
// The manual page, made from the tables of commands and options.
#include "queuectl/commands/commands.h"
#include "queuectl/config.h"
#include "queuectl/context.h"

namespace sluice::cli {
namespace {

std::string roff(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
    at_start = c == '\n';
  }
  return escaped;
}

std::string roff_option(const Option& option) {
  std::string text = ".TP\n";
  if (option.letter != 0) text += "\\fB\\-" + std::string(1, option.letter) + "\\fR, ";
  text += "\\fB" + roff(option.name) + "\\fR";
  if (!option.value.empty()) text += " \\fI" + roff(option.value) + "\\fR";
  return text + "\n" + roff(option.help) + "\n";
}

std::string man_page() {
  std::string text = ".TH QUEUECTL 1 \"\" \"queuectl " + std::string(kVersion) +
                     "\" \"User Commands\"\n"
                     ".SH NAME\nqueuectl \\- a durable job queue for the command line\n"
                     ".SH SYNOPSIS\n.B queuectl\n.I COMMAND\n.RI [ OPTIONS ]\n"
                     ".SH DESCRIPTION\n"
                     "Keeps jobs in a store on the disk, runs them with workers started in any\n"
                     "terminal, retries those that fail, and keeps the output of every run.\n"
                     "There is no daemon: every command opens the store itself.\n"
                     ".SH OPTIONS OF EVERY COMMAND\n";
  for (const Option& option : global_options()) text += roff_option(option);
  text += ".SH COMMANDS\n";
  for (const Command& command : all_commands()) {
    text += ".SS \"" + roff(command.name) + " " + roff(command.arguments) + "\"\n";
    text += roff(command.summary) + ".\n";
    if (!command.details.empty()) text += ".PP\n.nf\n" + roff(command.details) + "\n.fi\n";
    for (const Option& option : command.options) text += roff_option(option);
  }
  text += ".SH SETTINGS\n";
  for (const ConfigKey& key : config_keys())
    text += ".TP\n\\fB" + roff(key.name) + "\\fR (default " + roff(key.standard) + ")\n" +
            roff(key.help) + "\n";
  return text +
         ".SH EXIT STATUS\n"
         "0 ok, 1 failed, 2 wrong usage, 3 no such job or key, 4 conflict, 5 storage, 124 timed\n"
         "out, 130 and 143 interrupted.\n"
         ".SH FILES\n"
         "\\fI~/.local/state/queuectl\\fR: the store, logs/ and locks; "
         "\\fI~/.config/queuectl/config\\fR:\n"
         "the settings.\n";
}

Result<int> man(Context& context, const Arguments&) {
  context.print(man_page());
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
