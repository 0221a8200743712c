// SPDX-License-Identifier: MIT
// retry.
#include "migrate/retry.h"
#include "cli/output.h"
#include "cli/size.h"
#include "migrate/begin.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"
#include "sluice-migrate/item.h"

namespace sluice::cli {
namespace {

Result<int> retry(Context& context, const Arguments& arguments) {
  SLUICE_LET(ledger, context.own_existing());
  SLUICE_LET(settings, settings_of(*ledger.store));
  migrate::RetryWish wish{.failed = arguments.has("--failed"), .all = arguments.has("--all")};
  for (const std::string& word : operands(arguments)) {
    SLUICE_LET(path, ledger_path(word, settings));
    wish.paths.push_back(path);
  }
  if (wish.paths.empty() && !wish.all) wish.failed = true;
  SLUICE_TRY(migrate::drop_vanished(*ledger.store));
  SLUICE_LET(marked, migrate::mark_for_retry(*ledger.store, wish));
  const std::string what = marked == 1 ? "1 directory" : format_count(marked) + " directories";
  write_all(1, what + " to be listed again" + (wish.all ? ", with all below" : "") + "\n");
  if (marked != 0) context.note("`compare` lists them: sluice-migrate compare SRC DST, as before");
  return 0;
}

}  // namespace

std::vector<Command> retry_commands() {
  return {
      {.name = "retry",
       .alias = "",
       .arguments = "[PATH...]",
       .summary = "marks directories for a new listing, by the next compare",
       .details =
           "Without anything: those that could not be read, or changed while they were, and those\n"
           "with names that could not be read, or that copy refused because they had changed. "
           "With\n"
           "PATH: that directory and all below it. Only what is marked is listed again.\n\n"
           "  sluice-migrate retry --state ./ledger && sluice-migrate compare ... --state ./ledger",
       .options = {state_option(),
                   {.name = "--failed",
                    .value = "",
                    .help = "what could not be read (the default without PATH)",
                    .takes = Takes::nothing},
                   {.name = "--all", .value = "", .help = "everything", .takes = Takes::nothing}},
       .takes = Takes::text,
       .run = retry},
  };
}

}  // namespace sluice::cli
