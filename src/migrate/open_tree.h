// SPDX-License-Identifier: MIT
// A tree by what a person writes for it.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <memory>
#include <string_view>
#include <vector>

#include "migrate/filter.h"
#include "migrate/tree.h"

namespace sluice::migrate {

struct OpenTreeOptions {
  const Clock& clock;  ///< Outlives the tree.
  std::vector<Filter> filters = {};
  bool one_file_system = false;  ///< Made-up trees are on one.
};

/// "sim:..." is a made-up tree (sim_tree.h); everything else is the path of a directory
/// (local_tree.h). One whose name begins with "sim:" is opened as "./sim:...".
Result<std::unique_ptr<Tree>> open_tree(std::string_view text, const OpenTreeOptions& options);

}  // namespace sluice::migrate
