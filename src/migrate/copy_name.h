// SPDX-License-Identifier: MIT
// One name of a folder, made on the destination as the ledger has it planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "migrate/copy_order.h"
#include "migrate/copy_results.h"

namespace sluice::migrate {

enum class CopyExtent : std::uint8_t { all, attributes };

/// In whichever way its kind asks for; CopyOrder::temp is not looked at. Not for folders. What a
/// run that was killed has done, and not said, is as good.
Done copy_name(CopyOrder order, const CopyRules& rules, CopyExtent extent);

/// Makes it another name of a file that was copied before. Nothing: that file is not there any
/// more, or is another one, or cannot be linked to; it is to be copied by itself, then.
struct LinkFirst {
  int folder = -1;  ///< On the destination.
  std::string_view name = {};
};
std::optional<Done> link_name(CopyOrder order, const LinkFirst& first);

}  // namespace sluice::migrate
