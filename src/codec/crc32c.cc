// SPDX-License-Identifier: MIT
#include "codec/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "base/check.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace sluice::codec {
namespace crc32c_by {
namespace {

constexpr std::uint32_t kPolynomialReflected = 0x82f63b78;
constexpr std::size_t kStride = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kStride>;

/// Table k holds the checksum of one byte that is followed by k zero bytes, so that eight bytes are
/// folded in with eight independent look-ups.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomialReflected : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kStride; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xff];
    }
  return tables;
}
constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t tables(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  const auto byte_at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  std::size_t at = 0;
  for (; bytes.size() - at >= kStride; at += kStride) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < kStride; ++i) {
      const std::uint32_t mixed_in = i < 4 ? (crc >> (8 * i)) & 0xff : 0;
      next ^= kTables[kStride - 1 - i][byte_at(at + i) ^ mixed_in];
    }
    crc = next;
  }
  for (; at < bytes.size(); ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ byte_at(at)) & 0xff];
  return ~crc;
}

#if defined(__x86_64__)

bool hardware_is_there() {
  return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) std::uint32_t hardware(std::string_view bytes,
                                                         std::uint32_t before) {
  std::uint64_t crc = ~before;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= sizeof(std::uint64_t); left -= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    crc = _mm_crc32_u64(crc, word);
    at += sizeof word;
  }
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left) narrow = _mm_crc32_u8(narrow, static_cast<std::uint8_t>(*at++));
  return ~narrow;
}

#else

bool hardware_is_there() {
  return false;
}

std::uint32_t hardware(std::string_view, std::uint32_t) {
  SLUICE_CHECK(hardware_is_there());
  return 0;
}

#endif

}  // namespace crc32c_by

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  // Asked on every call: it is one load, and a pointer set at start-up would be null for whoever
  // computes a checksum before that.
  return crc32c_by::hardware_is_there() ? crc32c_by::hardware(bytes, before)
                                        : crc32c_by::tables(bytes, before);
}

}  // namespace sluice::codec
