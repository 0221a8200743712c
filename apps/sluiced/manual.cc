// SPDX-License-Identifier: MIT
#include "cli/manual.h"

#include "sluiced/context.h"

namespace sluice::cli {
namespace {

std::string settings() {
  std::string text =
      "Each is an option, else the variable, else a line \\fIname: value\\fR of the YAML file "
      "that\n"
      "\\fB\\-\\-config\\fR or SLUICED_CONFIG names, else the default. PORT gives the port of the\n"
      "default address.\n";
  for (const Setting& setting : all_settings()) {
    std::string help(setting.help);
    if (!setting.standard.empty()) help += " (default " + std::string(setting.standard) + ")";
    text += roff_entry(setting.name, variable_of(setting.name), help);
  }
  return text;
}

}  // namespace

Offers offers() {
  std::string levels;
  for (const std::string_view level : log_levels())
    levels.append(levels.empty() ? "" : " ").append(level);
  return {.words = {{Takes::level, levels}}};
}

Manual manual() {
  return {
      .version = kVersion,
      .summary = "a durable job queue as an HTTP service",
      .synopsis = ".B sluiced\n.RI [ COMMAND ]\n.RI [ OPTIONS ]\n",
      .description =
          "Keeps jobs in a store on the disk and hands them out to workers over HTTP. What it has\n"
          "answered is on the disk.\n",
      .sections = {{"SETTINGS", settings()},
                   {"SIGNALS",
                    "SIGTERM and SIGINT: no new connections; requests in flight are finished for "
                    "as long as\n"
                    "drain\\-time allows. SIGHUP: certificates and tokens are read again.\n"},
                   {"EXIT STATUS",
                    "0 ok, 1 failed, 2 wrong usage, 3 no such store, 5 storage or address.\n"},
                   {"FILES",
                    "\\fI/etc/sluiced.yaml\\fR: the settings of the service that systemd starts;\n"
                    "\\fI/var/lib/sluiced\\fR: its store.\n"}}};
}

}  // namespace sluice::cli
