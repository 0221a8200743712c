// SPDX-License-Identifier: MIT
// Its commands.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/manual.h"
#include "cli/program.h"
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

std::optional<std::string> variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == 0) return {};
  return value;
}

Result<int> run(const Command& command, const Arguments& arguments) {
  Settings settings;
  // What takes no settings works also where they are wrong.
  if (!command.options.empty()) {
    SLUICE_LET(read, read_settings(arguments, variable));
    settings = std::move(read);
  }
  Context context(std::move(settings));
  return command.run(context, arguments);
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
  return sluice::cli::run_program({argv + 1, argv + argc}, sluice::cli::kVersion, sluice::cli::run);
}
