// SPDX-License-Identifier: MIT
// How output is to look: decided once per stream (terminal.h), then handed to what renders.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::cli {

enum class Style { plain, dim, bold, red, green, yellow, blue, cyan, magenta };

/// A width in which everything fits: colours without cutting, for --color=always into a pipe.
inline constexpr std::size_t kWidthUnlimited = std::numeric_limits<std::size_t>::max();

/// As it stands: a pipe.
struct Look {
  bool colour = false;               ///< Escape codes for colours; only where there is a width.
  std::optional<std::size_t> width;  ///< Columns of the terminal; nothing if it is not one.
  bool unicode = true;               ///< The terminal shows UTF-8.
};

/// The text between the escape codes of its style; as it is if that is plain, if there is no
/// text, or if `look` has no colour or no width. The text must be harmless (visible.h).
std::string paint(std::string_view text, Style style, const Look& look);

}  // namespace sluice::cli
