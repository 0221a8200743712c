// SPDX-License-Identifier: MIT
// Text of unknown origin, made fit for a terminal and measured in its columns. Pure, thread-safe,
// independent of the locale. Unicode 14.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::cli {

/// What a terminal may be sent.
enum class Charset {
  utf8,
  ascii,  ///< Everything else is escaped: in some old terminals the bytes 80-9f are commands.
};

/// At most this many combining marks may follow one character; more would paint over the lines
/// above and below, and are escaped.
inline constexpr std::size_t kMarksMax = 4;

/// The text on one line and without anything that commands a terminal. Control characters become
/// \n, \t, \r or \x1b, bytes that are not UTF-8 \xff, and characters that are invisible or turn the
/// direction of writing \u202e. A backslash stays as it is, so this is for eyes only: what must be
/// read back is written as JSON.
std::string visible(std::string_view text, Charset charset = Charset::utf8);

/// visible() in double quotes, for messages; a long text is cut after 60 columns.
std::string in_quotes(std::string_view text);

/// How many columns of a terminal one character takes: 0 (combining marks), 1, or 2 (East Asian
/// wide characters, emoji). Control characters count as 1.
std::size_t char_width(char32_t character);

/// How many columns the text takes, which should be the result of visible(). Each byte that is not
/// UTF-8 counts as 1. Linear.
std::size_t text_width(std::string_view text);

/// The text if it takes at most `width` columns, otherwise as much of its beginning as leaves room
/// for "…" (in ASCII "...") and that. Never wider than `width`; one column less if a wide character
/// would have to be split.
std::string cut(std::string_view text, std::size_t width, Charset charset = Charset::utf8);

}  // namespace sluice::cli
