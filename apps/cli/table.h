// SPDX-License-Identifier: MIT
// Tables for people: fitted to a terminal, or complete and aligned for a pipe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/look.h"

namespace sluice::cli {

enum class Align { left, right };

struct Cell {
  std::string text;  ///< Anything; shown through visible().
  Style style = Style::plain;
};

struct Column {
  std::string title;
  Align align = Align::left;
  bool may_cut = false;  ///< Gives way first, down to `width_min`; what is cut ends in "…".
  /// Where even the least widths do not fit, the column of the highest number goes first, the last
  /// of equals. Columns of priority 0 stay, and are cut whether they may or not.
  unsigned priority = 0;
  std::size_t width_min = 12;  ///< With `may_cut`; never below the title's own width.
};

/// A row may have fewer cells than there are columns: the others are empty.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// A line of titles, in bold, and a line for each row, each ending in "\n"; two blanks between
/// columns, none at the end of a line.
///
/// With `look.width` no line is wider than that, counted in columns of the terminal: columns that
/// may be cut share what the others leave, the widest giving way first; then columns are dropped by
/// priority; then those of priority 0 are cut, and in a terminal with no room for one character of
/// each, the last go. Without it nothing is cut or dropped, and there are no escape codes.
///
/// Cells cannot disturb the terminal, whatever is in them. A row with more cells than columns is a
/// broken assumption (checked). Pure; linear in the text.
std::string render(const Table& table, const Look& look);

}  // namespace sluice::cli
