// SPDX-License-Identifier: MIT
// Doorbells on an array of futex words, in private memory or in a file that processes share.
#pragma once

#include <sluice/kv.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace sluice::kv {

inline constexpr std::size_t kBellWords = 1024;
/// Each word counts the rings of all bells that hash to it; two bells that share one wake each
/// other's waiters for nothing, which the contract allows.
using BellWords = std::array<std::atomic<std::uint32_t>, kBellWords>;

class Bells {
 public:
  /// `words` outlives the object. `commits` reads the store's commit number.
  Bells(BellWords& words, std::function<std::uint64_t()> commits)
      : words_(words), commits_(std::move(commits)) {}

  void ring(std::string_view bell) const;
  BellTicket listen(std::string_view bell) const;
  /// Blocks a real thread, so it counts real time.
  Wake wait(const BellTicket& ticket, const WaitOptions& options) const;

 private:
  std::atomic<std::uint32_t>& word(std::string_view bell) const;

  BellWords& words_;
  std::function<std::uint64_t()> commits_;
};

}  // namespace sluice::kv
