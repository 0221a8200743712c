// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <utility>

namespace sluice {

/// Owns a file descriptor, or none (-1), and closes it at the end of its scope: with it goes every
/// lock of its open file description, unless another process or descriptor still has that open. Not
/// thread-safe.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Closes what it owns, and owns `fd` from now on.
  void reset(int fd = -1) {
    // Never again after EINTR: Linux has closed it then, and the number may be somebody else's.
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  /// The caller owns it from now on.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace sluice
