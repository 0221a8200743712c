// SPDX-License-Identifier: MIT
// What a program printed, in a file that keeps its beginning and its end. Linux only.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"

namespace sluice::exec {

/// Opens `name` in the directory `dir_fd` (AT_FDCWD: the name is a path) for appending only, as
/// Command::output wants it; makes it, for its owner only, if there is none. A symbolic link is
/// refused. Fails with not_found (no such directory), permission_denied, storage_full,
/// invalid_argument (a link), unavailable (too many open files) or io_error.
Result<Descriptor> open_output(int dir_fd, const std::string& name);

/// Whether the file is empty and open here alone: no other descriptor made by opening it, for
/// reading or for writing, is left anywhere. Copies of `fd` itself are not seen, so ask with a
/// fresh one. No, if the file system cannot tell. Three system calls.
bool is_unused(int fd);

/// Bounds the disk space of a file that somebody else appends to. The writer is never held up and
/// notices nothing: its file grows on, but the middle of it is given back to the disk and reads as
/// zeros. One object per file, for the life of the file: it remembers what it has freed. Not
/// thread-safe.
class OutputCap {
 public:
  /// At least the first half and the last half of `limit_bytes` are kept.
  explicit OutputCap(std::uint64_t limit_bytes) : half_(limit_bytes / 2) {}

  /// If the file is longer than the limit, frees whole pages of its middle. What was written since
  /// the last call is on disk until the next, so the caller decides how far the limit is exceeded.
  /// `fd` must be writable. Fails with unavailable if the file system cannot do this (nothing is
  /// lost then, the file just grows), or with io_error. One system call if there is nothing new to
  /// free, two otherwise.
  Status enforce(int fd);

 private:
  std::uint64_t half_;
  std::uint64_t freed_to_ = 0;  // Everything kept of the first half up to here is freed.
};

/// The bytes from `begin` up to `end` are not stored.
struct Hole {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const Hole&, const Hole&) = default;
};

/// The first hole of the file; nothing if it has none, or its file system does not tell. Moves the
/// file offset of `fd`: read with pread(). Fails with io_error. Three system calls.
Result<std::optional<Hole>> hole_of(int fd);

}  // namespace sluice::exec
