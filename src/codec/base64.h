// SPDX-License-Identifier: MIT
// Base64 (RFC 4648, section 4): the usual alphabet, with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::codec {

std::string to_base64(std::string_view bytes);

/// Strict, so that every text has one meaning and every meaning one text: nothing but the alphabet,
/// padded to a multiple of four, no bits set that are not used.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sluice::codec
