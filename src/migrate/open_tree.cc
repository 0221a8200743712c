// SPDX-License-Identifier: MIT
#include "migrate/open_tree.h"

#include <string>

#include "migrate/local_tree.h"
#include "migrate/sim_tree.h"

namespace sluice::migrate {

Result<std::unique_ptr<Tree>> open_tree(std::string_view text, const OpenTreeOptions& options) {
  if (text.starts_with("sim:"))
    return open_sim_tree(text, {.clock = options.clock, .filters = options.filters});
  return open_local_tree({.root = std::string(text),
                          .filters = options.filters,
                          .one_file_system = options.one_file_system});
}

}  // namespace sluice::migrate
