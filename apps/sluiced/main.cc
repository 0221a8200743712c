// SPDX-License-Identifier: MIT
// Parse, call, print, exit code.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/help.h"
#include "cli/suggest.h"
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
    options.push_back({.name = spelled[i],
                       .value = setting.value,
                       .help = setting.help,
                       .takes = setting.value.empty() ? Takes::nothing : Takes::text});
  }
  return options;
}

std::vector<Command> own_commands() {
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
       .options = store_options(),
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

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> some = own_commands();
    const std::vector<Command> more = token_commands();
    some.insert(some.end(), more.begin(), more.end());
    return some;
  }();
  return all;
}

int report(const Status& status) {
  std::fprintf(stderr, "sluiced: %s\n", visible(status.message()).c_str());
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
      for (const Command& other : commands())
        if (!other.name.empty()) text += command_line(other);
    }
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  if (arguments.has("--version")) {
    std::printf("sluiced %s\n", SLUICE_VERSION);
    return 0;
  }
  SLUICE_LET(settings, read_settings(arguments, variable));
  Context context(std::move(settings));
  return command.run(context, arguments);
}

int start(std::vector<std::string> words) {
  const Command* command = &commands().front();
  if (!words.empty() && !words.front().starts_with('-')) {
    // "token add" has two words.
    const std::string two = words.size() > 1 ? words[0] + " " + words[1] : words[0];
    std::vector<std::string_view> names;
    for (const Command& one : commands()) {
      if (one.name == words[0] || one.name == two) command = &one;
      if (!one.name.empty()) names.push_back(one.name);
    }
    if (command->name.empty()) {
      std::string meant = did_you_mean(words[0], names);
      if (meant.empty()) meant = did_you_mean(two, names);
      return report({Code::invalid_argument, "there is no command " + in_quotes(words[0]) + ": " +
                                                 (meant.empty() ? "see sluiced --help" : meant)});
    }
    const bool both = command->name.find(' ') != std::string_view::npos;
    words.erase(words.begin(), words.begin() + (both ? 2 : 1));
  }
  const auto code = run(*command, words);
  return code ? *code : report(code.error());
}

}  // namespace

std::vector<Option> store_options() {
  return options_of({"data", "store-size", "log-level"});
}

std::span<const Option> global_options() {
  return kGlobal;
}

std::string_view program_name() {
  return "sluiced";
}

}  // namespace sluice::cli

int main(int argc, char** argv) {
  return sluice::cli::start(std::vector<std::string>(argv + 1, argv + argc));
}
