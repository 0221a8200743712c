// SPDX-License-Identifier: MIT
#include "queuectl/config.h"
#include "cli/table.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/job_view.h"

namespace sluice::cli {
namespace {

Result<int> config_get(Context& context, const Arguments& arguments) {
  if (arguments.words().size() != 1)
    return error(Code::invalid_argument, "say which setting: queuectl config get max-retries");
  SLUICE_LET(config, context.config());
  SLUICE_LET(value, config->get(arguments.words()[0]));
  if (context.json()) {
    codec::json::Writer writer;
    context.print(writer.string(value).take() + "\n");
  } else {
    context.print(value + "\n");
  }
  return kOk;
}

Result<int> config_set(Context& context, const Arguments& arguments) {
  const auto& words = arguments.words();
  if (words.size() != 2)
    return error(Code::invalid_argument,
                 "say the setting and its value: queuectl config set max-retries 3");
  SLUICE_LET(config, context.config());
  SLUICE_TRY(config->set(words[0], words[1]));
  context.say("set in " + config->path() + "; jobs that are enqueued already keep what they have");
  return kOk;
}

Result<int> config_unset(Context& context, const Arguments& arguments) {
  if (arguments.words().size() != 1)
    return error(Code::invalid_argument, "say which setting: queuectl config unset max-retries");
  SLUICE_LET(config, context.config());
  SLUICE_TRY(config->unset(arguments.words()[0]));
  return kOk;
}

Result<int> config_list(Context& context, const Arguments&) {
  SLUICE_LET(config, context.config());
  codec::json::Writer writer(codec::json::Layout::pretty);
  writer.object();
  Table table{.columns = {{.title = "SETTING"},
                          {.title = "VALUE"},
                          {.title = "FROM", .priority = 1},
                          {.title = "MEANING", .may_cut = true, .priority = 2}},
              .rows = {}};
  for (const ConfigKey& key : config_keys()) {
    SLUICE_LET(value, config->get(key.name));
    const std::string_view source = config->source(key.name);
    writer.name(key.name).string(value);
    table.rows.push_back({{std::string(key.name)},
                          {value, source == "default" ? Style::plain : Style::green},
                          {std::string(source), Style::dim},
                          {std::string(key.help), Style::dim}});
  }
  writer.end_object();
  context.print(context.json() ? writer.take() + "\n" : render(table, look_of(context.out())));
  return kOk;
}

Result<int> config_path(Context& context, const Arguments&) {
  context.print(default_config_path(context.environment()) + "\n");
  return kOk;
}

}  // namespace

std::vector<Command> config_commands() {
  return {
      {.name = "config get",
       .alias = "",
       .arguments = "KEY",
       .summary = "print a setting",
       .details = "",
       .options = {},
       .takes = Takes::key,
       .run = config_get},
      {.name = "config set",
       .alias = "",
       .arguments = "KEY VALUE",
       .summary = "change a setting",
       .details = "Settings count for jobs that are enqueued from then on. A variable such as\n"
                  "$QUEUECTL_MAX_RETRIES goes before the file, and an option before both.\n"
                  "\n"
                  "  queuectl config set max-retries 3",
       .options = {},
       .takes = Takes::key,
       .run = config_set},
      {.name = "config unset",
       .alias = "",
       .arguments = "KEY",
       .summary = "go back to the default of a setting",
       .details = "",
       .options = {},
       .takes = Takes::key,
       .run = config_unset},
      {.name = "config list",
       .alias = "",
       .arguments = "",
       .summary = "print all settings, where each comes from, and what it means",
       .details = "",
       .options = {},
       .takes = Takes::nothing,
       .run = config_list},
      {.name = "config path",
       .alias = "",
       .arguments = "",
       .summary = "print the name of the file with the settings",
       .details = "",
       .options = {},
       .takes = Takes::nothing,
       .run = config_path},
  };
}

}  // namespace sluice::cli
