// SPDX-License-Identifier: MIT
// An array that grows without moving anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::runtime {

/// Elements by number, made in chunks when the first of a chunk is asked for. Whoever knows that an
/// element exists may use it while another thread makes others: its place never changes. Making
/// elements is for one thread at a time. Memory is freed with the whole.
template <class T>
class Chunks {
 public:
  /// There will be no element of the number `count_max` or above.
  explicit Chunks(std::size_t count_max) : chunks_((count_max + kChunk - 1) / kChunk) {}

  std::size_t count_max() const { return chunks_.size() * kChunk; }
  /// Makes the element if it does not exist.
  T& make(std::uint32_t number) {
    std::unique_ptr<Chunk>& chunk = chunks_[number / kChunk];
    if (!chunk) chunk = std::make_unique<Chunk>();
    return (*chunk)[number % kChunk];
  }
  T& operator[](std::uint32_t number) { return (*chunks_[number / kChunk])[number % kChunk]; }
  const T& operator[](std::uint32_t number) const {
    return (*chunks_[number / kChunk])[number % kChunk];
  }

 private:
  static constexpr std::size_t kChunk = 512;
  using Chunk = std::array<T, kChunk>;

  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace sluice::runtime
