// SPDX-License-Identifier: MIT
// ls.
#include "cli/output.h"
#include "cli/size.h"
#include "cli/table.h"
#include "cli/visible.h"
#include "codec/json.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"
#include "sluice-migrate/item.h"

namespace sluice::cli {
namespace {

using migrate::Kind;
using migrate::Verdict;
using migrate::WalkItem;

Style style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
    case Verdict::excluded:
      return Style::dim;
    case Verdict::unknown:
      return Style::red;
    case Verdict::missing:
      return Style::green;
    case Verdict::extra:
    case Verdict::clash:
      return Style::magenta;
    default:
      return Style::yellow;
  }
}

std::string shown_status(std::optional<migrate::TraversalStatus> status) {
  return status ? std::string(migrate::status_name(*status)) : "-";
}

const migrate::Entry& entry_of(const WalkItem& item) {
  return item.src != nullptr ? *item.src : *item.dst;
}

std::vector<Cell> cells_of(const WalkItem& item, std::string_view name) {
  const Row row(item);
  const SideStatuses statuses = statuses_of(item);
  const migrate::Entry& entry = entry_of(item);
  const std::string verdict(item.compared ? migrate::verdict_name(row.verdict()) : "-");
  const std::string size = entry.kind == Kind::file ? format_size(entry.size) : "";
  return {{.text = verdict, .style = style_of(row.verdict())},
          {.text = shown_status(statuses.src)},
          {.text = shown_status(statuses.dst)},
          {.text = item.compared ? std::string(migrate::status_name(item.copy)) : "-"},
          {.text = size},
          {.text = std::string(name) + (entry.kind == Kind::folder ? "/" : "")}};
}

Table empty_table() {
  return {.columns = {{.title = "VERDICT"},
                      {.title = "SRC", .priority = 2},
                      {.title = "DST", .priority = 2},
                      {.title = "COPY", .priority = 3},
                      {.title = "SIZE", .align = Align::right, .priority = 4},
                      {.title = "NAME", .may_cut = true}},
          .rows = {}};
}

/// Where the table goes once it is so long: a directory may have millions of names.
constexpr std::size_t kTableRows = 4096;

class Lister {
 public:
  Lister(const Context& context, bool json) : look_(look_of(context.out())), json_(json) {}

  void add(const WalkItem& item, std::string_view name) {
    if (json_) {
      output_.add(first_ ? "[\n" : ",\n");
      output_.add(item_json(item));
    } else {
      table_.rows.push_back(cells_of(item, name));
      if (table_.rows.size() == kTableRows) draw();
    }
    first_ = false;
  }

  void finish() {
    if (json_)
      output_.add(first_ ? "[]\n" : "\n]\n");
    else
      draw();
    output_.flush();
  }

 private:
  void draw() {
    if (!table_.rows.empty()) output_.add(render(table_, look_));
    table_.rows.clear();
  }

  Look look_;
  bool json_;
  Output output_;
  Table table_ = empty_table();
  bool first_ = true;
};

Result<int> ls(Context& context, const Arguments& arguments) {
  const std::vector<std::string> words = operands(arguments);
  if (words.size() > 1)
    return error(Code::invalid_argument,
                 "ls takes one PATH; " + in_quotes(words[1]) + " is one too many");
  SLUICE_LET(filter, StatusFilter::make(arguments.all("--status")));
  SLUICE_LET(store, context.open_existing());
  SLUICE_LET(settings, settings_of(*store));
  const std::string written = words.empty() ? "" : words.front();
  SLUICE_LET(under, ledger_path(written, settings));
  Lister lister(context, arguments.has("--json"));
  const bool descend = arguments.has("--recursive");
  SLUICE_TRY(migrate::walk(*store, {.under = under, .descend = descend}, [&](const WalkItem& item) {
    const bool itself = item.path == (under.empty() ? "." : under);
    // Of a directory, what is in it; of anything else, itself.
    if (itself && entry_of(item).kind == Kind::folder) return true;
    if (!filter.empty() && !filter.matches(item)) return true;
    const std::size_t above = under.empty() || itself ? 0 : under.size() + 1;
    lister.add(item, item.path.substr(above));
    return true;
  }));
  lister.finish();
  return 0;
}

}  // namespace

std::vector<Command> ls_commands() {
  return {
      {.name = "ls",
       .alias = "",
       .arguments = "[PATH]",
       .summary = "lists one directory, with what is known of both sides",
       .details =
           "VERDICT is how the two compare; SRC and DST are the states of listing; COPY is what\n"
           "the copy did or is to do. PATH is written from the root of the trees.\n\n"
           "  sluice-migrate ls --state ./ledger photos/2019\n"
           "  sluice-migrate ls --state ./ledger -R --status failed",
       .options = {state_option(),
                   status_option(),
                   {.name = "--recursive",
                    .letter = 'R',
                    .value = "",
                    .help = "also what is below",
                    .takes = Takes::nothing},
                   json_option()},
       .takes = Takes::text,
       .run = ls},
  };
}

}  // namespace sluice::cli
