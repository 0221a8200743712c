// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "migrate/folder_task.h"

namespace sluice::migrate {

struct Pulled {
  std::vector<FolderTask> tasks;
  bool all = false;  ///< There are no others.
};

/// The pending directories of a side, the lowest level first, that nobody has in memory: at most
/// `room` of them. Costs a look at each that is `known`.
Result<Pulled> pull_pending(kv::Store& store, Side side, std::size_t room,
                            const std::function<bool(Side, FolderId)>& known);

}  // namespace sluice::migrate
