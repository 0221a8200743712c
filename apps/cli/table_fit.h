// SPDX-License-Identifier: MIT
// Which columns of a table are shown in a terminal, and how wide. Part of table.h.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cli/table.h"

namespace sluice::cli {

/// Blanks between two columns.
inline constexpr std::size_t kColumnGap = 2;

struct FittedColumn {
  std::size_t index;  ///< Of the table's columns.
  std::size_t width;

  friend bool operator==(const FittedColumn&, const FittedColumn&) = default;
};

/// What a column would take if there were room: at least its title.
struct NaturalWidth {
  std::size_t title;
  std::size_t all;  ///< Title and cells.
};

/// The columns to show, in their order, so that with gaps they take at most `width` (one of width 0
/// is shown in any case). One natural width for each column. The rules are those of render().
std::vector<FittedColumn> fit(std::span<const Column> columns,
                              std::span<const NaturalWidth> natural, std::size_t width);

}  // namespace sluice::cli
