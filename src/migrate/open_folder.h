// SPDX-License-Identifier: MIT
// The way from a root to a directory below it.
#pragma once

#include <fcntl.h>

#include <string_view>
#include <tl/expected.hpp>

#include "base/descriptor.h"

namespace sluice::migrate {

/// Opens the directory at `path` below the directory `root`. The path is relative, its names joined
/// by '/', empty for the root itself; it may be longer than PATH_MAX. No link is followed, neither
/// on the way nor at the end, and nothing outside of `root` is reached.
///
/// `flags` is O_RDONLY, perhaps with O_NOATIME, or O_PATH for a descriptor that only *at() calls
/// are made on; O_DIRECTORY and O_CLOEXEC are added.
///
/// The error is an errno: ELOOP or ENOTDIR if a name on the way is not a directory, EINVAL for an
/// empty name, "." or "..". Costs one system call per 4 KiB of path, or one per name on kernels
/// that have no openat2. Any thread.
tl::expected<Descriptor, int> open_folder(int root, std::string_view path, int flags = O_RDONLY);

}  // namespace sluice::migrate
