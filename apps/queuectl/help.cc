// SPDX-License-Identifier: MIT
#include "queuectl/help.h"

#include <algorithm>

#include "queuectl/commands/commands.h"

namespace sluice::cli {
namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

std::string option_line(const Option& option) {
  std::string left = option.letter != 0 ? std::string("-") + option.letter + ", " : "    ";
  left += option.name;
  if (!option.value.empty()) left.append(" ").append(option.value);
  return "  " + padded(left, 26) + std::string(option.help) + "\n";
}

}  // namespace

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
  for (const Command& command : all_commands())
    text += "  " + padded(std::string(command.name), 18) + std::string(command.summary) + "\n";
  text += "\nOptions of every command:\n";
  for (const Option& option : global_options()) text += option_line(option);
  text +=
      "\n"
      "Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 no such job or key, 4 conflict (duplicate id,\n"
      "wrong state), 5 storage, 124 timed out, 130 and 143 interrupted.\n"
      "`queuectl COMMAND --help` explains a command and shows examples.\n";
  return text;
}

std::string command_help(const Command& command) {
  std::string text = "queuectl " + std::string(command.name) + ": " + std::string(command.summary);
  text += "\n\nUsage: queuectl " + std::string(command.name);
  if (!command.options.empty()) text += " [OPTIONS]";
  if (!command.arguments.empty()) text.append(" ").append(command.arguments);
  text += "\n";
  if (!command.alias.empty()) text += "Alias: queuectl " + std::string(command.alias) + "\n";
  if (!command.details.empty()) text += "\n" + std::string(command.details) + "\n";
  if (!command.options.empty()) text += "\nOptions:\n";
  for (const Option& option : command.options) text += option_line(option);
  text += "\nOptions of every command:\n";
  for (const Option& option : global_options()) text += option_line(option);
  return text;
}

}  // namespace sluice::cli
