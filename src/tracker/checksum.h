// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::tracker {

/// The CRC-32C (Castagnoli) of `bytes`. Given that of what came before, that of both together.
std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0);

}  // namespace sluice::tracker
