// SPDX-License-Identifier: MIT
#include "tracker/checksum.h"

#include <array>
#include <cstddef>

namespace sluice::tracker {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78 : 0);
    table[byte] = sum;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t checksum(std::string_view bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  for (const char byte : bytes)
    sum = (sum >> 8) ^ kTable[(sum ^ static_cast<std::uint8_t>(byte)) & 0xff];
  return ~sum;
}

}  // namespace sluice::tracker
