// SPDX-License-Identifier: MIT
// settings, forwarders.
#include <unistd.h>

#include <charconv>

#include "cli/output.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/visible.h"
#include "codec/json.h"
#include "net/proxy.h"
#include "retracker/context.h"
#include "retracker/forwarders.h"

namespace sluice::cli {
namespace {

void write_table(const Table& table) {
  const Look look = look_of(inspect(STDOUT_FILENO, ColourMode::automatic, process_environment()));
  write_all(STDOUT_FILENO, render(table, look));
}

std::string settings_json(const EffectiveSettings& effective) {
  codec::json::Writer writer;
  writer.array();
  for (std::size_t i = 0; i < all_settings().size(); ++i) {
    const Setting& setting = all_settings()[i];
    writer.object().name("name").string(setting.name).name("value");
    write_value(writer, setting, effective.settings);
    writer.name("from").string(effective.origins[i]).end_object();
  }
  return writer.end_array().take() + "\n";
}

Result<int> show_settings(Context& context, const Arguments& arguments) {
  const EffectiveSettings& effective = context.effective();
  if (arguments.has("--json")) {
    write_all(STDOUT_FILENO, settings_json(effective));
    return 0;
  }
  Table table{.columns = {{.title = "NAME"},
                          {.title = "VALUE", .may_cut = true},
                          {.title = "FROM", .may_cut = true},
                          {.title = "WHAT IT IS", .may_cut = true, .priority = 1}},
              .rows = {}};
  for (std::size_t i = 0; i < all_settings().size(); ++i) {
    const Setting& setting = all_settings()[i];
    const std::string value = shown(setting, effective.settings);
    table.rows.push_back({{std::string(setting.name)},
                          {value.empty() ? "-" : value},
                          {effective.origins[i]},
                          {std::string(setting.help)}});
  }
  write_table(table);
  return 0;
}

/// Without its login.
std::string proxy_place(const tracker::UpstreamConfig& upstream) {
  const auto proxy = net::parse_proxy(upstream.proxy);
  return proxy ? proxy->place() : std::string();
}

std::string forwarders_json(const std::vector<tracker::UpstreamConfig>& upstreams) {
  codec::json::Writer writer;
  writer.array();
  for (const tracker::UpstreamConfig& one : upstreams) {
    writer.object().name("name").string(one.name).name("uri").string(one.uri);
    if (!one.ip.empty()) writer.name("ip").string(one.ip);
    if (!one.host.empty()) writer.name("host").string(one.host);
    if (!one.bind.empty()) writer.name("bind").string(one.bind);
    if (!one.proxy.empty()) writer.name("proxy").string(proxy_place(one));
    writer.end_object();
  }
  return writer.end_array().take() + "\n";
}

Result<int> show_forwarders(Context& context, const Arguments& arguments) {
  const std::string& path = context.settings().forwarders_file;
  if (path.empty())
    return error(Code::invalid_argument, "say which file: retracker forwarders -f FILE");
  SLUICE_LET(found, read_forwarders(path));
  for (const std::string& warning : found.warnings)
    write_all(STDERR_FILENO, "retracker: " + visible(warning) + "\n");
  if (arguments.has("--json")) {
    write_all(STDOUT_FILENO, forwarders_json(found.forwarders));
    return 0;
  }
  Table table{.columns = {{.title = "NAME", .may_cut = true},
                          {.title = "URI", .may_cut = true},
                          {.title = "IP", .priority = 1},
                          {.title = "HOST", .may_cut = true, .priority = 2},
                          {.title = "BIND", .priority = 2},
                          {.title = "PROXY", .may_cut = true, .priority = 2}},
              .rows = {}};
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  for (const tracker::UpstreamConfig& one : found.forwarders)
    table.rows.push_back({{one.name},
                          {one.uri},
                          {or_dash(one.ip)},
                          {or_dash(one.host)},
                          {or_dash(one.bind)},
                          {or_dash(proxy_place(one))}});
  write_table(table);
  return 0;
}

std::vector<Option> printing_options() {
  std::vector<Option> options = settings_options();
  options.push_back(
      {.name = "--json", .value = "", .help = "as a JSON array", .takes = Takes::nothing});
  return options;
}

}  // namespace

std::vector<Command> settings_commands() {
  return {
      {.name = "settings",
       .alias = "",
       .arguments = "",
       .summary = "prints every setting, its value, and where that comes from",
       .details = "Serves nothing. A file that would be refused is refused here too.\n\n"
                  "  retracker settings -c retracker.yaml",
       .options = printing_options(),
       .run = show_settings},
      {.name = "forwarders",
       .alias = "",
       .arguments = "",
       .summary = "reads the forwarders file, and prints the trackers in it",
       .details = "Asks none of them.\n\n"
                  "  retracker forwarders -f forwarders.yaml",
       .options = printing_options(),
       .run = show_forwarders},
  };
}

}  // namespace sluice::cli
