// SPDX-License-Identifier: MIT
// Parse, call, print, exit code.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/visible.h"
#include "sluiced/context.h"

namespace sluice::cli {
namespace {

constexpr std::array<Option, 2> kGlobal{{
    {"--help", 'h', "", "explain the command", Takes::nothing},
    {"--version", 0, "", "print the version", Takes::nothing},
}};

std::vector<Option> options_of(std::initializer_list<std::string_view> names) {
  static std::vector<std::string> spelled;  // Options hold views.
  if (spelled.empty()) {
    spelled.reserve(all_settings().size());
    for (const Setting& setting : all_settings())
      spelled.push_back("--" + std::string(setting.name));
  }
  std::vector<Option> options{
      {"--config", 0, "FILE", "read settings from this file, as `listen: ADDR`", Takes::file}};
  for (std::size_t i = 0; i < all_settings().size(); ++i) {
    const Setting& setting = all_settings()[i];
    if (names.size() != 0 && std::ranges::find(names, setting.name) == names.end()) continue;
    options.push_back(
        {.name = spelled[i], .value = setting.value, .help = setting.help, .takes = setting.takes});
  }
  return options;
}

std::vector<Option> verify_options() {
  std::vector<Option> options = store_options();
  options.push_back(
      {.name = "--json", .value = "", .help = "as a JSON object", .takes = Takes::nothing});
  options.push_back({.name = "--here",
                     .value = "",
                     .help = "in this process, not in one of its own",
                     .takes = Takes::nothing});
  return options;
}

std::vector<Command> store_commands() {
  return {
      {.name = "",
       .alias = "",
       .arguments = "",
       .summary = "serves the job queue over HTTP",
       .details =
           "Without a command it serves until SIGTERM or Ctrl-C, which let requests in flight "
           "finish.\nSIGHUP has certificates and tokens read again. A setting is an option, else "
           "$SLUICED_NAME, else in the\nfile, else the default.\n\n"
           "  sluiced                                       on 127.0.0.1:3100, in ./data\n"
           "  sluiced --listen 127.0.0.1:0 --data /srv/q    prints the port that it takes\n"
           "  sluiced verify --data /srv/q                  proves that the store is sound\n"
           "  sluiced backup /mnt/q --data /srv/q           copies it, also while it is used",
       .options = options_of({}),
       .run = serve},
      {.name = "verify",
       .alias = "",
       .arguments = "",
       .summary = "proves that the store is sound, also while it is used",
       .details = "Exit code 5 and a line for each breach if it is not.",
       .options = verify_options(),
       .run = verify},
      {.name = "backup",
       .alias = "",
       .arguments = "DIR",
       .summary = "copies the store to a new folder, also while it is used",
       .details = "The copy opens like the store it was made of: sluiced --data DIR.",
       .options = store_options(),
       .takes = Takes::folder,
       .run = backup},
  };
}

int report(const Status& status) {
  write_all(2, "sluiced: " + visible(status.message()) + "\n");
  return code_info(status.code()).exit_code;
}

std::optional<std::string> variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == 0) return {};
  return value;
}

Result<int> run(const Command& command, const std::vector<std::string>& words) {
  SLUICE_LET(arguments, Arguments::parse(command, words));
  if (arguments.has("--help")) {
    std::string text = command_help(command);
    if (command.name.empty()) {
      text += "\nCommands:\n";
      for (const Command& other : all_commands())
        if (!other.name.empty()) text += command_line(other);
    }
    write_all(1, text);
    return 0;
  }
  if (arguments.has("--version")) {
    write_all(1, "sluiced " + std::string(kVersion) + "\n");
    return 0;
  }
  Settings settings;
  // What takes no settings works also where they are wrong.
  if (!command.options.empty()) {
    SLUICE_LET(read, read_settings(arguments, variable));
    settings = std::move(read);
  }
  Context context(std::move(settings));
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

std::vector<Option> store_options() {
  return options_of({"data", "store-size", "log-level"});
}

std::span<const Option> global_options() {
  return kGlobal;
}

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all;
    for (const auto& group : {store_commands(), token_commands(), manual_commands()})
      all.insert(all.end(), group.begin(), group.end());
    return all;
  }();
  return commands;
}

std::string_view program_name() {
  return "sluiced";
}

}  // namespace sluice::cli

int main(int argc, char** argv) {
  return sluice::cli::start(std::vector<std::string>(argv + 1, argv + argc));
}
