// SPDX-License-Identifier: MIT
// A quick hash of few bytes for tables in memory. Strangers choose the bytes, so each table has a
// secret seed: without it nobody can choose many that fall together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::tracker {

/// Not for what is stored or sent: it differs between machines.
template <std::size_t kBytes>
std::uint64_t seeded_hash(const std::array<std::uint8_t, kBytes>& bytes, std::uint64_t seed) {
  std::uint64_t hash = seed ^ 0x9e3779b97f4a7c15;
  for (std::size_t at = 0; at < kBytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, kBytes - at < sizeof word ? kBytes - at : sizeof word);
    const auto product = static_cast<unsigned __int128>(hash ^ word) * 0xd6e8feb86659fd93;
    hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ seed;
  }
  return (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
}

}  // namespace sluice::tracker
