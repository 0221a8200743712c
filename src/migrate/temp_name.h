// SPDX-License-Identifier: MIT
// The names under which things are put together before they get their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace sluice::migrate {

/// What every temporary name begins with.
inline constexpr std::string_view kTempPrefix = ".sluice-";

/// The name for `name` while it is made by the run `tag`: kTempPrefix, 16 hexadecimal digits of a
/// hash of both, ".tmp". The same for the same, so that what a killed run left is overwritten.
std::string temp_name(std::string_view tag, std::string_view name);

/// Whether a name looks like one of temp_name().
bool is_temp_name(std::string_view name);

/// Removes what killed runs left in the directory `folder` (it may be O_PATH): everything but
/// folders that is_temp_name(). Returns how many, or an errno. Nobody else may be copying into
/// `folder`: their temporary names would go too.
tl::expected<std::uint64_t, int> clean_temps(int folder);

}  // namespace sluice::migrate
