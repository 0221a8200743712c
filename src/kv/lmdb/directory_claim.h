// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace sluice::kv {

/// The right to be the only one in this process that has a store's directory open, until it is
/// destroyed. LMDB's locks are per process: a second one that closes its files would drop them.
class DirectoryClaim {
 public:
  /// `already_exists` if somebody else in this process has it. The directory must exist.
  static Result<std::unique_ptr<DirectoryClaim>> take(const std::string& dir);
  ~DirectoryClaim();
  DirectoryClaim(const DirectoryClaim&) = delete;
  DirectoryClaim& operator=(const DirectoryClaim&) = delete;

 private:
  using Identity = std::pair<std::uint64_t, std::uint64_t>;  // Device and inode.

  explicit DirectoryClaim(Identity identity) : identity_(identity) {}

  const Identity identity_;
};

}  // namespace sluice::kv
