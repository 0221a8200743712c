// SPDX-License-Identifier: MIT
#include "cli/manual.h"

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

}  // namespace

Offers offers() {
  return {};
}

Manual manual() {
  return {
      .version = kVersion,
      .summary = "a BitTorrent tracker that forwards to other trackers",
      .synopsis = ".B retracker\n.RI [ COMMAND ]\n.RI [ OPTIONS ]\n",
      .description =
          "Tells the clients near it of each other, over HTTP and UDP, and announces them to the\n"
          "trackers of a list, whose peers it hands on.\n",
      .sections = {
          {"SETTINGS", settings()},
          {"FORWARDERS",
           "A YAML list. An entry is a uri (http, https or udp), or\n"
           "\\fIuri\\fR with \\fIname\\fR (of statistics), \\fIip\\fR (announced in "
           "place of the peer's address),\n"
           "\\fIhost\\fR (the Host header), \\fIbind\\fR (the address that it is told from) and\n"
           "\\fIproxy\\fR (socks5:// or http://, with user:password@ if wanted).\n"},
          {"SIGNALS",
           "SIGTERM and SIGINT end it. SIGHUP: the forwarders and the lists of torrents "
           "are read again.\n"},
          {"ADMINISTRATION",
           "POST /admin/forwarders/\\fINAME\\fR/disable and /enable: a forwarder hears nothing, or "
           "again.\n"
           "With \\fIstats_password\\fR for who has it, else for who asks from this machine.\n"},
          {"EXIT STATUS", "0 ok, 1 failed, 2 wrong usage, 5 address or disk.\n"}}};
}

}  // namespace sluice::cli
