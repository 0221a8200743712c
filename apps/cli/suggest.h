// SPDX-License-Identifier: MIT
// "Did you mean": what a mistyped word may have been. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// At most this many are suggested.
inline constexpr std::size_t kSuggestionsMax = 3;
/// Longer words are nothing mistyped: nothing is suggested.
inline constexpr std::size_t kSuggestWordBytesMax = 64;

/// How many letters must be added, left out, replaced or swapped with their neighbour to make one
/// word of the other; no letter is touched twice. Bytes, not characters. Quadratic.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Of the candidates, those nearest to `word`, all at the same distance, in their order. Large and
/// small letters are the same. Near means a distance of at most 2, but no more than half of a short
/// word and up to a third of a long one; a candidate that begins with `word` is at distance 1.
std::vector<std::string> closest(std::string_view word,
                                 std::span<const std::string_view> candidates);

/// `did you mean "list"?` or `did you mean "hold" or "unhold"?`; empty if nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace sluice::cli
