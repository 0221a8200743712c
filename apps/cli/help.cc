// SPDX-License-Identifier: MIT
#include "cli/help.h"

#include <algorithm>

namespace sluice::cli {
namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

}  // namespace

std::string option_line(const Option& option) {
  std::string left = option.letter != 0 ? std::string("-") + option.letter + ", " : "    ";
  left += option.name;
  if (!option.value.empty()) left.append(" ").append(option.value);
  return "  " + padded(left, 26) + std::string(option.help) + "\n";
}

std::string command_line(const Command& command) {
  return "  " + padded(std::string(command.name), 18) + std::string(command.summary) + "\n";
}

std::string command_help(const Command& command) {
  const std::string name = full_name(command);
  std::string text = name + ": " + std::string(command.summary);
  text += "\n\nUsage: " + name;
  if (!command.options.empty()) text += " [OPTIONS]";
  if (!command.arguments.empty()) text.append(" ").append(command.arguments);
  text += "\n";
  if (!command.alias.empty())
    text.append("Alias: ").append(program_name()).append(" ").append(command.alias).append("\n");
  if (!command.details.empty()) text += "\n" + std::string(command.details) + "\n";
  if (!command.options.empty()) text += "\nOptions:\n";
  for (const Option& option : command.options) text += option_line(option);
  text += "\nOptions of every command:\n";
  for (const Option& option : global_options()) text += option_line(option);
  return text;
}

}  // namespace sluice::cli
