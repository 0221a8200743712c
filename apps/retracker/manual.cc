// SPDX-License-Identifier: MIT
// completion, man.
#include "cli/manual.h"

#include "cli/completion.h"
#include "cli/output.h"
#include "retracker/context.h"

namespace sluice::cli {
namespace {

std::string settings() {
  std::string text =
      "Each is an option (\\fB\\-\\-set\\fR \\fIname\\fR=\\fIvalue\\fR, or one of its own), else "
      "the variable,\n"
      "else a line \\fIname: value\\fR of the YAML file that \\fB\\-\\-config\\fR or "
      "RETRACKER_CONFIG names,\n"
      "else the default.\n";
  for (const Setting& setting : all_settings()) {
    std::string help(setting.help);
    if (!setting.standard.empty()) help += " (default " + std::string(setting.standard) + ")";
    text += roff_entry(setting.name, variable_of(setting.name), help);
  }
  return text;
}

Manual manual() {
  return {
      .version = kVersion,
      .summary = "a BitTorrent tracker that forwards to other trackers",
      .synopsis = ".B retracker\n.RI [ COMMAND ]\n.RI [ OPTIONS ]\n",
      .description =
          "Tells the clients near it of each other, over HTTP and UDP, and announces them to the\n"
          "trackers of a list, whose peers it hands on.\n",
      .sections = {{"SETTINGS", settings()},
                   {"FORWARDERS",
                    "A YAML list. An entry is a uri (http, https or udp), or\n"
                    "\\fIuri\\fR with \\fIname\\fR (of statistics), \\fIip\\fR (announced in "
                    "place of the peer's address)\n"
                    "and \\fIhost\\fR (the Host header).\n"},
                   {"SIGNALS",
                    "SIGTERM and SIGINT end it. SIGHUP: the forwarders and the lists of torrents "
                    "are read again.\n"},
                   {"EXIT STATUS", "0 ok, 1 failed, 2 wrong usage, 5 address or disk.\n"}}};
}

Result<int> completion(Context& /*context*/, const Arguments& arguments) {
  const std::string shell = arguments.words().empty() ? "" : arguments.words().front();
  SLUICE_LET(script, completion_script(shell, {}));
  write_all(1, script);
  return 0;
}

Result<int> man(Context& /*context*/, const Arguments& /*arguments*/) {
  write_all(1, man_page(manual()));
  return 0;
}

}  // namespace

std::vector<Command> manual_commands() {
  return {
      {.name = "completion",
       .alias = "",
       .arguments = "bash | zsh | fish",
       .summary = "prints a script that completes commands and options",
       .details = "  source <(retracker completion bash)",
       .options = {},
       .takes = Takes::shell,
       .run = completion},
      {.name = "man",
       .alias = "",
       .arguments = "",
       .summary = "prints the manual page",
       .details = "  retracker man | man -l -",
       .options = {},
       .run = man},
  };
}

}  // namespace sluice::cli
