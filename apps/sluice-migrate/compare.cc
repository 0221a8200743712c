// SPDX-License-Identifier: MIT
// compare.
#include "cli/output.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/comparing.h"
#include "sluice-migrate/summary.h"

namespace sluice::cli {
namespace {

Result<int> compare(Context& context, const Arguments& arguments) {
  SLUICE_LET(wish, read_compare_wish(arguments));
  SLUICE_LET(telling, read_telling_wish(arguments));
  SLUICE_LET(interrupts, open_interrupts(context));
  auto compared = compare_trees(context, std::move(wish), telling, *interrupts);
  if (!compared && compared.error().code() == Code::cancelled && interrupts->came())
    return interrupted(context);
  SLUICE_TRY(compared);
  SLUICE_LET(summary, read_summary(*compared->ledger.store));
  const int code = compare_exit_code(summary);
  if (telling.json) {
    codec::json::Writer writer;
    put_summary(writer.object(), summary);
    write_all(1, writer.name("exit_code").number(code).end_object().take() + "\n");
  } else if (!telling.quiet) {
    write_all(1, summary_text(summary));
  }
  if (code == kIncomplete)
    context.note(
        "something could not be read: `report --status unknown` and `why PATH` say what and why; "
        "mend it, then `retry` and compare again");
  return code;
}

}  // namespace

std::vector<Command> compare_commands() {
  return {
      {.name = "compare",
       .alias = "",
       .arguments = "SRC DST",
       .summary = "lists both trees and compares them; changes neither",
       .details =
           "What it finds is kept in the ledger, so a run that ended early goes on where it was,\n"
           "and one that is finished is not done again. The options that decide what differs are\n"
           "kept too: the same ledger with others is refused. SRC and DST are folders; DST need\n"
           "not be there. Exit code 0: the same; 1: different; 2: something is unknown;\n"
           "3: interrupted.\n\n"
           "  sluice-migrate compare /srv/old /srv/new --state ./ledger\n"
           "  sluice-migrate compare /srv/old /srv/new --state ./ledger --again\n"
           "  sluice-migrate compare /a /b --state ./sums --checksum --exclude '*.tmp'",
       .options = joined({{state_option()},
                          compare_options(),
                          {threads_option(), memory_option()},
                          telling_options()}),
       .takes = Takes::folder,
       .run = compare},
  };
}

}  // namespace sluice::cli
