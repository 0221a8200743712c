// SPDX-License-Identifier: MIT
// The words in which parse() says what it refuses. Every function returns one line of valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::codec::json {

/// As much of the text as a message shows.
inline constexpr std::size_t kShownBytesMax = 40;

/// "line 2, column 5", for what stands after `before`, which is valid UTF-8.
std::string place_after(std::string_view before);

/// What stands at the beginning of `rest`, which may be any bytes: "'x'", "the end of the text".
std::string found(std::string_view rest);

/// The beginning of `text`, which is valid UTF-8 without control characters.
std::string shown(std::string_view text);

/// The same in quotes, for any valid UTF-8.
std::string quoted(std::string_view text);

/// `value` in upper-case hexadecimal digits.
std::string hex(unsigned value, std::size_t digits);

}  // namespace sluice::codec::json
