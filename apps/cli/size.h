// SPDX-License-Identifier: MIT
// Sizes in bytes, and counts, as people write and read them. Pure and thread-safe.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::cli {

/// Reads a number, perhaps with a fraction, and a unit: none or B, or K, M, G, T, P, E, alone or
/// followed by B or iB, in any case of letters, perhaps after one blank: "100", "64K", "10MiB",
/// "1.5 GiB". All units are powers of 1024. A fraction of a byte is cut off.
///
/// Fails with invalid_argument that names the text, what is wrong and examples; also if it is more
/// than 2^64 - 1 bytes.
Result<std::uint64_t> parse_size(std::string_view text);

/// "512 B", "64 KiB", "1.4 MiB": the largest unit that gives at least 1, rounded to one decimal; a
/// decimal of zero is left out. parse_size() reads all of them.
std::string format_size(std::uint64_t bytes);

/// With separators: "1,234,567".
std::string format_count(std::uint64_t count);

/// "1 job", "1,234 jobs": the noun takes an s unless there is one.
std::string plural(std::uint64_t count, std::string_view noun);

}  // namespace sluice::cli
