// SPDX-License-Identifier: MIT
// A tree on this machine's disks.
#pragma once

#include <sluice/result.h>

#include <memory>
#include <string>
#include <vector>

#include "migrate/filter.h"
#include "migrate/tree.h"

namespace sluice::migrate {

struct LocalTreeOptions {
  std::string root;                  ///< May lead over symbolic links; nothing below it does.
  std::vector<Filter> filters = {};  ///< What they match is delivered `excluded`.
  bool one_file_system = false;      ///< Folders on another device are delivered `excluded`.
};

/// The tree below `root`, which is opened here and stays the one it is, also if it is renamed.
/// Fails if it is no directory, or a filter is `invalid_argument`.
///
/// list() costs what getdents64 and one statx per entry cost, besides four calls per directory;
/// each thread that calls it keeps 128 KiB for it, and 256 KiB for hash().
///
/// A listing is `changed` if the directory's mtime or ctime moved while it was read, or a name was
/// gone when it was looked at. Before Linux 6.13 these times move in steps of the kernel's tick
/// (about 4 ms): a directory that is changed once before and once during the reading, both within
/// one tick, goes unnoticed.
///
/// A folder that is the root once more (bind mounts can do that) is delivered with `error` ELOOP.
/// Times that nanoseconds since 1970 cannot say (before 1677, after 2262) are the nearest that they
/// can.
Result<std::unique_ptr<Tree>> open_local_tree(const LocalTreeOptions& options);

}  // namespace sluice::migrate
