// SPDX-License-Identifier: MIT
// CRC-32C (Castagnoli): the checksum of every stored record. It finds any burst of up to 32 bits
// and any one, two or three flipped bits in records of the sizes that Sluice stores.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::codec {

/// The CRC-32C of `bytes`. Given the checksum of what came before, that of both together:
/// crc32c(b, crc32c(a)) == crc32c(a + b). Uses the processor's instruction where there is one
/// (about 8 bytes in 3 cycles), otherwise tables. Never fails; thread-safe.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

/// The two implementations behind crc32c(), which agree on every input. For their tests.
namespace crc32c_by {

/// Whether hardware() may be called on this machine.
bool hardware_is_there();
std::uint32_t hardware(std::string_view bytes, std::uint32_t before = 0);
std::uint32_t tables(std::string_view bytes, std::uint32_t before = 0);

}  // namespace crc32c_by
}  // namespace sluice::codec
