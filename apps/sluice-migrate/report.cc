// SPDX-License-Identifier: MIT
// report.
#include "cli/visible.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"
#include "sluice-migrate/item.h"
#include "sluice-migrate/summary.h"

namespace sluice::cli {
namespace {

using migrate::ReportRow;
using migrate::Verdict;
using migrate::WalkItem;

struct Format {
  std::string_view name;
  std::string (*line)(const ReportRow& row);
};

Result<Format> read_format(const Arguments& arguments) {
  const std::string name = arguments.text("--format").value_or("itemize");
  if (name == "itemize") return Format{"itemize", migrate::itemized_line};
  if (name == "json") return Format{"json", migrate::json_line};
  if (name == "csv") return Format{"csv", migrate::csv_line};
  return error(Code::invalid_argument,
               "--format is " + in_quotes(name) + ": it must be one of itemize, json, csv");
}

/// What is reported if nothing else is asked for.
bool is_difference(const WalkItem& item) {
  if (!item.compared || item.excluded || is_unknown_from_above(item)) return false;
  return item.found.verdict != Verdict::same && item.found.verdict != Verdict::excluded;
}

Result<int> report(Context& context, const Arguments& arguments) {
  SLUICE_LET(format, read_format(arguments));
  SLUICE_LET(filter, StatusFilter::make(arguments.all("--status")));
  const bool all = arguments.has("--all");
  SLUICE_LET(store, context.open_existing());
  SLUICE_LET(summary, read_summary(*store));
  Output output;
  if (format.name == "csv") output.add(migrate::csv_header());
  SLUICE_TRY(migrate::walk(*store, {}, [&](const WalkItem& item) {
    const bool wanted =
        filter.empty() ? (all && item.compared) || is_difference(item) : filter.matches(item);
    if (wanted) output.add(format.line(*Row(item)));
    return true;
  }));
  output.flush();
  if (summary.pending() != 0)
    context.note("the comparison is not finished: this is what is known so far");
  return 0;
}

}  // namespace

std::vector<Command> report_commands() {
  return {
      {.name = "report",
       .alias = "",
       .arguments = "",
       .summary = "prints every difference, sorted by path",
       .details =
           "The same bytes whatever the threads, interruptions and delays of the comparison were.\n"
           "itemize is what rsync -i prints; below an extra folder, and one that could not be\n"
           "read, nothing is listed by itself.\n\n"
           "  sluice-migrate report --state ./ledger | grep '^.f'\n"
           "  sluice-migrate report --state ./ledger --format json --status missing",
       .options = {state_option(),
                   {.name = "--format",
                    .value = "FORMAT",
                    .help = "itemize, json (one object per line) or csv (default itemize)"},
                   {.name = "--all",
                    .value = "",
                    .help = "also what is the same",
                    .takes = Takes::nothing},
                   status_option()},
       .run = report},
  };
}

}  // namespace sluice::cli
