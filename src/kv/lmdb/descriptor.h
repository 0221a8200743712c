// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <utility>

namespace sluice::kv {

/// A file descriptor that is closed at the end of its scope, and with it its flock.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  /// The caller closes it.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace sluice::kv
