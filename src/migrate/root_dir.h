// SPDX-License-Identifier: MIT
// A directory that is opened once, and what is opened below it since.
#pragma once

#include <sluice/result.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"

namespace sluice::migrate {

/// Opens paths below one directory. It stays that directory, whatever happens to its name, and no
/// path leads out of it: symbolic links are refused anywhere in a path, also those that somebody
/// puts there at this moment. Concurrency: const members may be called from any number of threads.
class RootDir {
 public:
  struct Options {
    /// Name by name, as on a kernel without openat2 (before 5.6). Slower by one call per name.
    bool by_name = false;
  };
  /// What was opened, or why not (errno).
  struct Opened {
    Descriptor fd = {};
    int error = 0;
  };

  /// `path` may be relative and lead over symbolic links.
  static Result<RootDir> open(const std::string& path, Options options);

  /// `flags` as for open(2), without O_CREAT; O_NOFOLLOW and O_CLOEXEC are added. `path` is
  /// relative, empty for the root, and may be longer than PATH_MAX: it is opened in pieces then.
  /// ELOOP or ENOTDIR for a symbolic link in it; EINVAL for one with ".", ".." or nothing between
  /// slashes. Costs one call, if the path is shorter than PATH_MAX.
  Opened open(std::string_view path, int flags) const;

  /// Opened with O_PATH: good for *at() calls, not for reading.
  int fd() const { return fd_.get(); }
  /// Absolute, without symbolic links; as it was when the root was opened.
  const std::string& path() const { return path_; }

 private:
  RootDir(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  int open_piece(int at, std::string_view piece, int flags) const;

  Descriptor fd_;
  std::string path_;
  bool by_name_ = false;
};

/// Calls again what a signal interrupted.
template <typename Call>
auto uninterrupted(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace sluice::migrate
