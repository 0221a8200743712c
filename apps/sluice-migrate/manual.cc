// SPDX-License-Identifier: MIT
#include "cli/manual.h"

#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"

namespace sluice::cli {

Offers offers() {
  return {.words = {{Takes::state,
                     "same attributes content missing extra clash newer unknown excluded pending "
                     "successful failed not_on_src skipped in-progress copy:pending "
                     "copy:successful"}}};
}

Manual manual() {
  return {
      .version = kVersion,
      .summary = "compares two trees of files, durably, and makes the second like the first",
      .synopsis = ".B sluice\\-migrate\n.I COMMAND\n.RI [ OPTIONS ]\n",
      .description =
          "Lists two trees of files, keeps what it finds in a ledger on the disk, compares, and\n"
          "carries out what differs. A run that ends early, however it ends, goes on where it was\n"
          "when the same command is given again. What could not be read is unknown, and nothing\n"
          "below it is ever deleted.\n",
      .sections = {
          {"SIGNALS",
           "SIGINT, SIGTERM and SIGHUP: what is done is kept, and the program ends with 3; a\n"
           "second one ends it at once, which loses at most what was not committed.\n"},
          {"EXIT STATUS",
           "Of compare, run and copy: 0 the same, or everything was copied; 1 something differs\n"
           "(compare); 2 something is unknown, or failed; 3 interrupted, the same command goes "
           "on.\n.PP\n"
           "Of every command: 2 wrong usage, 3 no such ledger or path, 4 another run is at work "
           "or\n"
           "the comparison is not finished, 5 the disk or the ledger.\n"},
          {"FILES",
           "\\fIDIR\\fR/ledger: what is known, a Sluice store; \\fIDIR\\fR/run.lock: held by the "
           "run "
           "that\nis at work; where DIR is what \\fB\\-\\-state\\fR names. Removing DIR forgets it "
           "all.\n"}}};
}

}  // namespace sluice::cli
