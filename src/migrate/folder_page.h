// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "migrate/system_call.h"

namespace sluice::migrate {

/// Some names of a directory, as many as the kernel hands out at once. 32 KiB, on the stack.
class FolderPage {
 public:
  /// The next ones. An errno, or 0; empty() at the end.
  int read(int fd) {
    const auto got = retried([&] { return getdents64(fd, bytes_.data(), bytes_.size()); });
    size_ = got < 0 ? 0 : static_cast<std::size_t>(got);
    return got < 0 ? errno : 0;
  }
  bool empty() const { return size_ == 0; }

  /// Calls back with every entry but "." and "..".
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t at = 0; at < size_;) {
      const auto* entry = reinterpret_cast<const dirent64*>(bytes_.data() + at);
      at += entry->d_reclen;
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        visit(*entry);
    }
  }

 private:
  alignas(dirent64) std::array<char, 32 * 1024> bytes_;
  std::size_t size_ = 0;
};

}  // namespace sluice::migrate
