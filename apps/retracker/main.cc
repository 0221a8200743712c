// SPDX-License-Identifier: MIT
// Its commands.
#include <array>
#include <string>
#include <vector>

#include "cli/manual.h"
#include "cli/program.h"
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

Result<int> run(const Command& command, const Arguments& arguments) {
  EffectiveSettings effective;
  // What takes no settings works also where they are wrong.
  if (!command.options.empty()) {
    SLUICE_LET(sources, sources_of(arguments));
    SLUICE_LET(read, read_settings(sources));
    effective = std::move(read);
  }
  for (const std::string& warning : effective.warnings) complain(warning);
  Context context(std::move(effective));
  return command.run(context, arguments);
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
  return sluice::cli::run_program({argv + 1, argv + argc}, sluice::cli::kVersion, sluice::cli::run);
}
