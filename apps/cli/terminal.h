// SPDX-License-Identifier: MIT
// What a stream leads to: a terminal or not, how wide, with colours, with UTF-8. The decisions are
// pure functions of what is given; inspect() alone looks at the real world.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/look.h"

namespace sluice::cli {

/// The value of a variable of the environment; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
/// This process's own. Not to be called while another thread changes the environment.
Environment process_environment();

/// What --color asks for.
enum class ColourMode { automatic, always, never };
/// Reads "auto", "always" or "never"; anything else is invalid_argument that says so.
Result<ColourMode> parse_colour_mode(std::string_view text);

/// `always` and `never` decide; otherwise colours are for terminals, unless NO_COLOR is set and not
/// empty, or TERM is "dumb".
bool use_colour(ColourMode mode, bool is_terminal, const Environment& environment);

/// Whether the first of LC_ALL, LC_CTYPE and LANG that is set and not empty names UTF-8.
bool use_unicode(const Environment& environment);

struct Extent {
  std::size_t columns = 80;
  std::size_t rows = 24;

  friend bool operator==(const Extent&, const Extent&) = default;
};
/// $COLUMNS and $LINES above this, or that are no numbers, are passed over.
inline constexpr std::size_t kExtentMax = 10'000;

/// The size of a terminal: each side as `reported` by the kernel unless that is 0, else from
/// $COLUMNS or $LINES, else 80 by 24.
Extent terminal_extent(const Extent& reported, const Environment& environment);

struct Terminal {
  bool is_terminal = false;
  Extent extent;  ///< Also of what is no terminal: what $COLUMNS says, or 80.
  bool colour = false;
  bool unicode = false;
};

/// For render(): the width of a terminal; no width for a pipe, or kWidthUnlimited if colours were
/// asked for nevertheless.
Look look_of(const Terminal& terminal);

/// What the open file `fd` (1, 2) is. Never fails: a closed `fd` is no terminal.
Terminal inspect(int fd, ColourMode mode, const Environment& environment);

}  // namespace sluice::cli
