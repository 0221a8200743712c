// SPDX-License-Identifier: MIT
// A directory that is opened once, and what is opened below it since.
#pragma once

#include <sluice/result.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "migrate/open_folder.h"

namespace sluice::migrate {

/// One directory, and what is below it. It stays that directory, whatever happens to its name.
/// Concurrency: const members may be called from any number of threads.
class RootDir {
 public:
  /// `path` may be relative and lead over symbolic links.
  static Result<RootDir> open(const std::string& path);

  /// As open_below() says.
  tl::expected<Descriptor, int> open(std::string_view path, int flags) const {
    return open_below(fd_.get(), path, flags);
  }

  /// Opened with O_PATH: good for *at() calls, not for reading.
  int fd() const { return fd_.get(); }
  /// Absolute, without symbolic links; as it was when the root was opened.
  const std::string& path() const { return path_; }

 private:
  RootDir(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Descriptor fd_;
  std::string path_;
};

}  // namespace sluice::migrate
