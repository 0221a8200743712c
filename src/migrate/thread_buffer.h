// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace sluice::migrate {

/// `Bytes` of memory, aligned for everything, that the thread uses again and again; what is in it
/// is not defined. Several at a time are fine (a sink may read another directory): the second and
/// further ones are allocated.
template <std::size_t Bytes>
class ThreadBuffer {
 public:
  ThreadBuffer() : bytes_(std::move(spare())) {
    if (!bytes_) bytes_ = std::make_unique_for_overwrite<Block>();
  }
  ~ThreadBuffer() { spare() = std::move(bytes_); }
  ThreadBuffer(const ThreadBuffer&) = delete;
  ThreadBuffer& operator=(const ThreadBuffer&) = delete;

  char* data() const { return bytes_->bytes; }
  static constexpr std::size_t size() { return Bytes; }

 private:
  struct Block {
    alignas(std::max_align_t) char bytes[Bytes];
  };
  static std::unique_ptr<Block>& spare() {
    alignas(8) thread_local std::unique_ptr<Block> block;
    return block;
  }

  std::unique_ptr<Block> bytes_;
};

}  // namespace sluice::migrate
