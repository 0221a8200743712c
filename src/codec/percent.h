// SPDX-License-Identifier: MIT
// Percent-encoding of parts of an address (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::codec {

/// Letters, digits and "-._~" stand for themselves, every other byte is written as %XX.
std::string percent_encode(std::string_view bytes);

/// Nothing if a '%' is not followed by two hexadecimal digits. '+' stands for itself.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace sluice::codec
