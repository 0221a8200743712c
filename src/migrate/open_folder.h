// SPDX-License-Identifier: MIT
// The way from a root to what is below it.
#pragma once

#include <fcntl.h>

#include <string_view>
#include <tl/expected.hpp>

#include "base/descriptor.h"

namespace sluice::migrate {

/// Opens what is at `path` below the directory `root`. The path is relative, its names joined by
/// '/', empty for the root itself; it may be longer than PATH_MAX. No link is followed, neither on
/// the way nor at the end, also none that somebody puts there at this moment, and nothing outside
/// of `root` is reached.
///
/// `flags` as for open(2), without O_CREAT; O_NOFOLLOW and O_CLOEXEC are added.
///
/// The error is an errno: ELOOP or ENOTDIR if a name on the way is not a directory, EINVAL for an
/// empty name, "." or "..". Costs one system call per 4 KiB of path, or one per name on kernels
/// that have no openat2 (before 5.6). Any thread.
tl::expected<Descriptor, int> open_below(int root, std::string_view path, int flags);

/// The same for a directory. `flags`: O_RDONLY, perhaps with O_NOATIME, or O_PATH for a descriptor
/// that only *at() calls are made on.
inline tl::expected<Descriptor, int> open_folder(int root, std::string_view path,
                                                 int flags = O_RDONLY) {
  return open_below(root, path, flags | O_DIRECTORY);
}

}  // namespace sluice::migrate
