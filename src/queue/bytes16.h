// SPDX-License-Identifier: MIT
// Sixteen bytes: the size of a mark and of a shortened hash, kept without an allocation.
#pragma once

#include <sluice/kv.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <string_view>

#include "base/check.h"

namespace sluice::queue {

/// Ordered as unsigned bytes, as keys are.
struct Bytes16 {
  static constexpr std::size_t kSize = 16;
  std::array<unsigned char, kSize> bytes{};

  /// `view` must have 16 bytes.
  static Bytes16 of(std::string_view view) {
    SLUICE_CHECK(view.size() == kSize);
    Bytes16 made;
    std::copy(view.begin(), view.end(), made.bytes.begin());
    return made;
  }
  static Bytes16 of(const kv::Mark& mark) {
    Bytes16 made;
    made.bytes[0] = static_cast<unsigned char>(mark.epoch >> 8);
    made.bytes[1] = static_cast<unsigned char>(mark.epoch);
    std::ranges::copy(mark.stamp.bytes, made.bytes.begin() + 2);
    for (std::size_t i = 0; i < 4; ++i)
      made.bytes[12 + i] = static_cast<unsigned char>(mark.ordinal >> (24 - 8 * i));
    return made;
  }

  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), kSize}; }
  kv::Mark mark() const { return kv::Mark::decode(view()).value(); }
  bool zero() const { return *this == Bytes16{}; }
  friend auto operator<=>(const Bytes16&, const Bytes16&) = default;
};
static_assert(Bytes16::kSize == kv::kMarkBytes);

}  // namespace sluice::queue
