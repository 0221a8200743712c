// SPDX-License-Identifier: MIT
// status.
#include <algorithm>
#include <map>

#include "cli/output.h"
#include "cli/size.h"
#include "cli/table.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"
#include "sluice-migrate/summary.h"

namespace sluice::cli {
namespace {

using codec::json::Writer;
using migrate::CopyStatus;
using migrate::Side;
using migrate::Tally;
using migrate::TraversalStatus;
using migrate::Verdict;

using StatusCounts = Summary::Counts<migrate::kTraversalStatuses>;
/// By level.
using Levels = std::map<std::uint32_t, StatusCounts>;

std::string_view side_name(Side side) {
  return side == Side::src ? "src" : "dst";
}

Levels levels_of(const Summary& summary, Side side) {
  Levels levels;
  const Tally what = side == Side::src ? Tally::src : Tally::dst;
  for (const auto& [key, count] : summary.tallies)
    if (key.what == what && key.which < migrate::kTraversalStatuses && count != 0)
      levels[key.level].at(key.which) = static_cast<std::uint64_t>(count);
  return levels;
}

void put_traversal(Writer& writer, const StatusCounts& counts) {
  writer.object();
  for (std::size_t i = 0; i < counts.size(); ++i)
    writer.name(migrate::status_name(static_cast<TraversalStatus>(i))).number(counts.at(i));
  writer.end_object();
}

void put_copy(Writer& writer, const Summary::Counts<migrate::kCopyStatuses>& counts) {
  writer.object();
  for (std::size_t i = 0; i < counts.size(); ++i)
    writer.name(migrate::status_name(static_cast<CopyStatus>(i))).number(counts.at(i));
  writer.end_object();
}

void put_levels(Writer& writer, const Summary& summary) {
  writer.name("levels").array();
  for (const Side side : {Side::src, Side::dst})
    for (const auto& [level, counts] : levels_of(summary, side)) {
      writer.object().name("side").string(side_name(side)).name("level").number(level);
      writer.name("traversal");
      put_traversal(writer, counts);
      writer.end_object();
    }
  writer.end_array();
}

struct View {
  bool running = false;
  bool levels = false;
};

std::string status_json(const Summary& summary, const View& view) {
  Writer writer;
  put_summary(writer.object(), summary);
  writer.name("running").boolean(view.running);
  writer.name("traversal").object();
  for (const Side side : {Side::src, Side::dst}) {
    writer.name(side_name(side));
    put_traversal(writer, summary.traversal.at(static_cast<std::size_t>(side)));
  }
  writer.end_object().name("copy").object();
  put_copy(writer.name("files"), summary.copy_files);
  put_copy(writer.name("folders"), summary.copy_folders);
  put_copy(writer.name("bytes"), summary.copy_bytes);
  writer.end_object().name("drift").object();
  writer.name("appeared").number(summary.drift[0]);
  writer.name("vanished").number(summary.drift[1]);
  writer.name("changed").number(summary.drift[2]).end_object();
  if (view.levels) put_levels(writer, summary);
  return writer.end_object().take() + "\n";
}

// ------------------------------------------------------------------------------------------- text

std::string state_line(const Summary& summary, bool running) {
  const std::string run = running ? "; a run is at work" : "";
  if (summary.pending() != 0)
    return plural(summary.pending(), "directory listing") + " to do" + run;
  if (summary.has_unknown()) return "compared; something could not be read" + run;
  return "compared" + run;
}

Table facts(const Summary& summary, bool running) {
  return {.columns = {{.title = "LEDGER"}, {.title = "", .may_cut = true}},
          .rows = {{{.text = "source"}, {.text = summary.settings.src}},
                   {{.text = "destination"}, {.text = summary.settings.dst}},
                   {{.text = "state"}, {.text = state_line(summary, running)}}}};
}

/// A count that is zero is not worth looking at.
Cell count_cell(std::uint64_t count) {
  return {.text = format_count(count), .style = count == 0 ? Style::dim : Style::plain};
}

Table verdicts(const Summary& summary) {
  Table table{.columns = {{.title = "VERDICT"},
                          {.title = "NAMES", .align = Align::right},
                          {.title = "BYTES", .align = Align::right, .priority = 1}},
              .rows = {}};
  for (std::size_t i = 0; i < kVerdicts; ++i)
    table.rows.push_back({{.text = std::string(migrate::verdict_name(static_cast<Verdict>(i)))},
                          count_cell(summary.verdicts.at(i)),
                          {.text = format_size(summary.verdict_bytes.at(i))}});
  return table;
}

Table listings(const Summary& summary, bool levels) {
  Table table{.columns = {{.title = "LISTED"}}, .rows = {}};
  for (std::size_t i = 0; i < migrate::kTraversalStatuses; ++i)
    table.columns.push_back(
        {.title = std::string(migrate::status_name(static_cast<TraversalStatus>(i))),
         .align = Align::right,
         .priority = 1});
  const auto add = [&](std::string name, const StatusCounts& counts) {
    std::vector<Cell> row{{.text = std::move(name)}};
    for (const std::uint64_t count : counts) row.push_back(count_cell(count));
    table.rows.push_back(std::move(row));
  };
  for (const Side side : {Side::src, Side::dst}) {
    add(std::string(side_name(side)), summary.traversal.at(static_cast<std::size_t>(side)));
    if (!levels) continue;
    for (const auto& [level, counts] : levels_of(summary, side))
      add(std::string(side_name(side)) + " " + std::to_string(level), counts);
  }
  return table;
}

Table copies(const Summary& summary) {
  Table table{.columns = {{.title = "COPY"},
                          {.title = "FILES", .align = Align::right},
                          {.title = "FOLDERS", .align = Align::right},
                          {.title = "BYTES", .align = Align::right, .priority = 1}},
              .rows = {}};
  for (std::size_t i = 0; i < migrate::kCopyStatuses; ++i) {
    if (static_cast<CopyStatus>(i) == CopyStatus::in_progress) continue;  // Never stored.
    table.rows.push_back({{.text = std::string(migrate::status_name(static_cast<CopyStatus>(i)))},
                          count_cell(summary.copy_files.at(i)),
                          count_cell(summary.copy_folders.at(i)),
                          {.text = format_size(summary.copy_bytes.at(i))}});
  }
  return table;
}

Result<int> status(Context& context, const Arguments& arguments) {
  SLUICE_LET(store, context.open_existing());
  SLUICE_LET(summary, read_summary(*store));
  // Who may read the ledger but not its lock is told the rest.
  const View view{.running = context.is_running().value_or(false),
                  .levels = arguments.has("--levels")};
  if (arguments.has("--json")) {
    write_all(1, status_json(summary, view));
    return 0;
  }
  const Look look = look_of(context.out());
  write_all(1, render(facts(summary, view.running), look) + "\n" + render(verdicts(summary), look) +
                   "\n" + render(listings(summary, view.levels), look) + "\n" +
                   render(copies(summary), look));
  return 0;
}

}  // namespace

std::vector<Command> status_commands() {
  return {
      {.name = "status",
       .alias = "",
       .arguments = "",
       .summary = "prints the counters of the ledger, also while a run is at work",
       .details =
           "Of each side, how many names have which state of listing; how names compare; what the\n"
           "copy did and has to do.\n\n"
           "  sluice-migrate status --state ./ledger --json | jq .traversal.src.failed",
       .options = {state_option(),
                   {.name = "--levels",
                    .value = "",
                    .help = "also of each level of the trees",
                    .takes = Takes::nothing},
                   json_option()},
       .run = status},
  };
}

}  // namespace sluice::cli
