// SPDX-License-Identifier: MIT
// Taking away what is only on the destination.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include "migrate/copy_order.h"
#include "migrate/entry.h"

namespace sluice::migrate {

struct RemoveRules {
  /// How many entries may be removed, folders counted.
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  /// Says of a path, relative to the tree that is removed, that it stays, and the folders above it;
  /// nothing below it is looked at. Empty: nothing stays.
  std::function<bool(std::string_view path)> keep = {};
};

/// What came of a removal. What was removed before it ended is gone, and counted.
struct [[nodiscard]] Removed {
  std::uint64_t entries = 0;
  std::uint64_t kept = 0;    ///< By RemoveRules::keep; the folders above are not counted.
  bool reached_max = false;  ///< There is more, and nothing of it was touched.
  std::optional<CopyFault> fault = {};

  /// All that was to go is gone.
  bool done() const { return !fault && !reached_max; }
};

/// Removes one name that is not a folder, or an empty folder, if it is still_is() `known`;
/// drift_dst otherwise. in_the_way: a folder that is not empty. Nothing there at all is fine: 0
/// entries.
Removed remove_entry(int folder, const Entry& known);

/// Removes the folder `known` with all that is in it, whatever that is, and follows no links.
/// drift_dst if there is something else at that name. Stops at the first fault, and refuses to go
/// into, or take away, what is mounted below (in_the_way, EXDEV). Memory and descriptors do not
/// grow with the size of the tree: 32 KiB of names per level, 32 descriptors.
Removed remove_tree(int folder, const Entry& known, const RemoveRules& rules = {});

}  // namespace sluice::migrate
