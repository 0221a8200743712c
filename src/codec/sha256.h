// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4), for names in keys. Our own because the library that has it costs every
// start of a program: it asks the processor what it can do, which a virtual machine answers slowly,
// and reads a file.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::codec {

/// The digest of all of `bytes`. About 4 ns per byte.
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

}  // namespace sluice::codec
