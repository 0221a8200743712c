// SPDX-License-Identifier: MIT
// exclude, include.
#include "migrate/exclude.h"

#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"
#include "sluice-migrate/item.h"

namespace sluice::cli {
namespace {

using Change = Status (*)(kv::Store& store, std::string_view path);

Result<int> change(const Context& context, const Arguments& arguments, Change one) {
  const std::vector<std::string> words = operands(arguments);
  if (words.empty()) return error(Code::invalid_argument, "say which: PATH...");
  SLUICE_LET(ledger, context.own_existing());
  SLUICE_LET(settings, settings_of(*ledger.store));
  std::vector<std::string> paths;
  for (const std::string& word : words) {
    SLUICE_LET(path, ledger_path(word, settings));
    paths.push_back(std::move(path));
  }
  for (const std::string& path : paths) SLUICE_TRY(one(*ledger.store, path));
  return 0;
}

Result<int> exclude(Context& context, const Arguments& arguments) {
  return change(context, arguments, migrate::exclude);
}

Result<int> include(Context& context, const Arguments& arguments) {
  return change(context, arguments, migrate::include);
}

}  // namespace

std::vector<Command> exclude_commands() {
  return {
      {.name = "exclude",
       .alias = "",
       .arguments = "PATH...",
       .summary = "leaves subtrees out of copy and delete",
       .details = "They stay in the ledger, and `include` takes it back.\n\n"
                  "  sluice-migrate exclude --state ./ledger photos/raw tmp",
       .options = {state_option()},
       .takes = Takes::text,
       .run = exclude},
      {.name = "include",
       .alias = "",
       .arguments = "PATH...",
       .summary = "takes back what exclude did",
       .details = "  sluice-migrate include --state ./ledger photos/raw",
       .options = {state_option()},
       .takes = Takes::text,
       .run = include},
  };
}

}  // namespace sluice::cli
