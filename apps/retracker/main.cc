// SPDX-License-Identifier: MIT
// Parse, call, print, exit code.
#include <array>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/visible.h"
#include "retracker/context.h"

namespace sluice::cli {
namespace {

constexpr std::array<Option, 2> kGlobal{{
    {"--help", 'h', "", "explain the command", Takes::nothing},
    {"--version", 'v', "", "print the version", Takes::nothing},
}};

Command serving() {
  return {.name = "",
          .alias = "",
          .arguments = "",
          .summary = "a BitTorrent tracker that forwards to other trackers",
          .details =
              "Without a command it serves until SIGTERM or Ctrl-C. It needs no file: clients "
              "announce to\nhttp://HOST:6969/announce. SIGHUP has the forwarders and the lists of "
              "torrents read again.\nA setting is an option, else $RETRACKER_NAME, else in the "
              "file, else the default;\n`retracker settings` lists them all.\n\n"
              "  retracker                               HTTP on port 6969 of every address\n"
              "  retracker -u :6969                      UDP too\n"
              "  retracker -l 127.0.0.1:0                prints the port that it takes\n"
              "  retracker -f forwarders.yaml            tells these trackers, hands on their "
              "peers\n"
              "  retracker -c retracker.yaml --set age=60\n"
              "  retracker settings -c retracker.yaml    what would be in force, and why",
          .options = settings_options(),
          .run = serve};
}

void say(const std::string& text) {
  write_all(2, "retracker: " + visible(text) + "\n");
}

int report(const Status& status) {
  say(status.message());
  return code_info(status.code()).exit_code;
}

void print_help(const Command& command) {
  std::string text = command_help(command);
  if (command.name.empty()) {
    text += "\nCommands:\n";
    for (const Command& other : all_commands())
      if (!other.name.empty()) text += command_line(other);
  }
  write_all(1, text);
}

Result<int> run(const Command& command, const std::vector<std::string>& words) {
  SLUICE_LET(arguments, Arguments::parse(command, words));
  if (arguments.has("--help")) {
    print_help(command);
    return 0;
  }
  if (arguments.has("--version")) {
    write_all(1, "retracker " + std::string(kVersion) + "\n");
    return 0;
  }
  EffectiveSettings effective;
  // What takes no settings works also where they are wrong.
  if (!command.options.empty()) {
    SLUICE_LET(sources, sources_of(arguments));
    SLUICE_LET(read, read_settings(sources));
    effective = std::move(read);
  }
  for (const std::string& warning : effective.warnings) say(warning);
  Context context(std::move(effective));
  return command.run(context, arguments);
}

int start(std::vector<std::string> words) {
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
  const auto code = run(*found.command, words);
  return code ? *code : report(code.error());
}

}  // namespace

std::span<const Option> global_options() {
  return kGlobal;
}

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all{serving()};
    for (const auto& group : {settings_commands(), manual_commands()})
      all.insert(all.end(), group.begin(), group.end());
    return all;
  }();
  return commands;
}

std::string_view program_name() {
  return "retracker";
}

}  // namespace sluice::cli

int main(int argc, char** argv) {
  return sluice::cli::start(std::vector<std::string>(argv + 1, argv + argc));
}
