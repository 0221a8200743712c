// SPDX-License-Identifier: MIT
#include "cli/table.h"

#include <algorithm>

#include "base/check.h"
#include "cli/table_fit.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

// A cell as it is shown if there is room.
struct Shown {
  std::string text;
  std::size_t width = 0;
  Style style = Style::plain;
};
using ShownRow = std::vector<Shown>;

// A pipe takes UTF-8 whatever the terminal of its user shows: it is not the terminal.
Charset charset_of(const Look& look) {
  return look.unicode || !look.width ? Charset::utf8 : Charset::ascii;
}

Shown show(std::string_view text, Style style, Charset charset) {
  const std::size_t last = text.find_last_not_of(' ');
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  Shown shown{.text = visible(text, charset), .width = 0, .style = style};
  shown.width = text_width(shown.text);
  return shown;
}

// The titles first; every row with all cells.
std::vector<ShownRow> show_all(const Table& table, Charset charset) {
  std::vector<ShownRow> rows(1);
  for (const Column& column : table.columns) {
    rows[0].push_back(show(column.title, Style::bold, charset));
  }
  for (const std::vector<Cell>& cells : table.rows) {
    SLUICE_CHECK(cells.size() <= table.columns.size());
    ShownRow& row = rows.emplace_back();
    for (const Cell& cell : cells) row.push_back(show(cell.text, cell.style, charset));
    row.resize(table.columns.size());
  }
  return rows;
}

std::vector<NaturalWidth> natural_widths(const std::vector<ShownRow>& rows) {
  std::vector<NaturalWidth> widths;
  for (const Shown& title : rows[0]) widths.push_back({.title = title.width, .all = title.width});
  for (const ShownRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i].all = std::max(widths[i].all, row[i].width);
    }
  }
  return widths;
}

void append_row(std::string& out, const ShownRow& row, const std::vector<FittedColumn>& fitted,
                const Table& table, const Look& look) {
  std::size_t blanks = 0;  // Owed before the next text; never paid at the end of a line.
  for (const FittedColumn& column : fitted) {
    const Shown& cell = row[column.index];
    const bool whole = cell.width <= column.width;
    const std::string less = whole ? "" : cut(cell.text, column.width, charset_of(look));
    const std::string& text = whole ? cell.text : less;
    const std::size_t padding = column.width - (whole ? cell.width : text_width(less));
    const bool right = table.columns[column.index].align == Align::right;
    if (!text.empty()) {
      out.append(blanks + (right ? padding : 0), ' ').append(paint(text, cell.style, look));
      blanks = right ? 0 : padding;
    } else {
      blanks += column.width;
    }
    blanks += kColumnGap;
  }
  out += '\n';
}

}  // namespace

std::string render(const Table& table, const Look& look) {
  if (table.columns.empty()) return "";
  const std::vector<ShownRow> rows = show_all(table, charset_of(look));
  const std::vector<FittedColumn> fitted =
      fit(table.columns, natural_widths(rows), look.width.value_or(kWidthUnlimited));
  std::string out;
  for (const ShownRow& row : rows) append_row(out, row, fitted, table, look);
  return out;
}

}  // namespace sluice::cli
