// SPDX-License-Identifier: MIT
// Locks that the kernel releases, many in one file. Linux only; the file on a local file system.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"

namespace sluice::exec {

/// One place of a LockFile, held. It belongs to an open file description, not to a process: a
/// program that was given the descriptor (Command::kept) and all that it starts hold it too. It is
/// free once the last of them has ended or closed it; the end of this object closes ours only.
class Lock {
 public:
  explicit Lock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  /// Borrowed: lives as long as this. Closed at exec, unless it is handed on.
  int fd() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
};

/// A file of 2^62 places, each of which one holder at a time may lock. What the file contains does
/// not matter, and nothing is written to it. Thread-safe. It must be opened anew in a child.
class LockFile {
 public:
  /// Makes the file, for its owner only, if there is none. Fails with not_found (no such
  /// directory), permission_denied, unavailable (too many open files; /proc is not mounted, or does
  /// not show locks) or io_error.
  static Result<LockFile> open(const std::string& path);

  /// Nothing if somebody holds the place, be it through another Lock of this process. Of `place`,
  /// the lowest 62 bits count. Fails with unavailable (no descriptors or locks left) or io_error:
  /// the file was removed or replaced since open(), so that others would not see this lock. Each
  /// lock is a descriptor; a few microseconds.
  Result<std::optional<Lock>> try_lock(std::uint64_t place) const;

  /// Whether anybody holds it, at this moment. One system call.
  Result<bool> held(std::uint64_t place) const;

  const std::string& path() const { return path_; }
  /// The file as /proc names it in its lists of locks: "08:01:1234", device and inode.
  const std::string& identity() const { return identity_; }
  /// Where in the file the lock of `place` lies.
  static std::uint64_t offset_of(std::uint64_t place) {
    return place & ((std::uint64_t{1} << 62) - 1);
  }

 private:
  LockFile(std::string path, Descriptor descriptor, std::string identity)
      : path_(std::move(path)),
        descriptor_(std::move(descriptor)),
        identity_(std::move(identity)) {}

  std::string path_;
  Descriptor descriptor_;  // Never holds a lock; it asks for others'.
  std::string identity_;
};

}  // namespace sluice::exec
