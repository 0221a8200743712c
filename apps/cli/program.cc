// SPDX-License-Identifier: MIT
#include "cli/program.h"

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

int report(const Status& status) {
  complain(status.message());
  return code_info(status.code()).exit_code;
}

std::string help_of(const Command& command) {
  std::string text = command_help(command);
  if (!command.name.empty()) return text;
  text += "\nCommands:\n";
  for (const Command& other : all_commands())
    if (!other.name.empty()) text += command_line(other);
  return text;
}

}  // namespace

void complain(std::string_view text) {
  write_all(2, std::string(program_name()) + ": " + visible(text) + "\n");
}

int run_program(std::vector<std::string> words, std::string_view version,
                Result<int> (*run)(const Command& command, const Arguments& arguments)) {
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  FoundCommand found{&all_commands().front(), 0};
  if (!words.empty() && !words.front().starts_with('-')) found = find_command(words);
  if (found.command == nullptr) {
    const auto help = group_help(words);
    if (!help) return report(help.error());
    write_all(1, *help);
    return 0;
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(found.words));
  const auto arguments = Arguments::parse(*found.command, words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) {
    write_all(1, help_of(*found.command));
    return 0;
  }
  if (arguments->has("--version")) {
    write_all(1, std::string(program_name()) + " " + std::string(version) + "\n");
    return 0;
  }
  const auto code = run(*found.command, *arguments);
  return code ? *code : report(code.error());
}

}  // namespace sluice::cli
