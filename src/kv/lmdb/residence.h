// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kv/lmdb/environment.h"

namespace sluice::kv {

/// Bounds what this process has in memory of the file that LMDB maps. Pages that were read stay
/// mapped, and count as the memory of the process, until somebody else needs them; given back, they
/// are still in the kernel's cache.
class Residence {
 public:
  /// How many may be read or erased between two looks.
  static constexpr std::uint32_t kValuesPerLook = 64;

  /// 0: no bound. Without one, and where /proc does not tell, look() does nothing.
  Residence(const Environment& environment, std::uint64_t bytes_max);

  /// Gives all pages back if there are too many. Any thread, also beside readers and writers. Cost:
  /// some microseconds; then a small fault for each page that is used again.
  void look() const;

 private:
  const std::uint64_t bytes_max_;
  char* map_ = nullptr;
  std::size_t map_bytes_ = 0;
};

}  // namespace sluice::kv
