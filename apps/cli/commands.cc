// SPDX-License-Identifier: MIT
#include "cli/commands.h"

#include <algorithm>

#include "cli/help.h"
#include "cli/suggest.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

/// What serves without a command, and what has no alias, has an empty name; no word is that.
bool names(const Command& command, const std::string& word) {
  return !word.empty() && (command.name == word || command.alias == word);
}

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> all;
  for (const Command& command : all_commands())
    if (!command.name.empty()) all.push_back(command.name);
  return all;
}

}  // namespace

FoundCommand find_command(const std::vector<std::string>& words) {
  const std::string one = words.empty() ? std::string() : words[0];
  const std::string two = words.size() > 1 ? words[0] + " " + words[1] : std::string();
  for (const Command& command : all_commands())
    if (names(command, two)) return {&command, 2};
  for (const Command& command : all_commands())
    if (names(command, one)) return {&command, 1};
  return {};
}

Result<std::string> group_help(const std::vector<std::string>& words) {
  std::string word = words.front();
  std::string lines;
  std::string group;
  for (const Command& command : all_commands()) {
    if (!command.name.starts_with(word + " ")) continue;
    lines += command_line(command);
    group.append(group.empty() ? "" : ", ").append(command.name);
  }
  const auto asks = [](const std::string& one) { return one == "--help" || one == "-h"; };
  if (!group.empty() && std::ranges::any_of(words, asks))
    return "Usage: " + std::string(program_name()) + " " + word + " COMMAND [OPTIONS]\n\n" + lines;
  if (!group.empty() && words.size() > 1) word += " " + words[1];
  std::string hint = group.empty() ? did_you_mean(word, command_names()) : "there are " + group;
  if (hint.empty()) hint = "see " + std::string(program_name()) + " --help";
  return error(Code::invalid_argument, "there is no command " + in_quotes(word) + ": " + hint);
}

}  // namespace sluice::cli
