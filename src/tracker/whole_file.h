// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/result.h>

#include <string>
#include <string_view>

namespace sluice::tracker {

/// The bytes of the file at `path`; `not_found` if there is none. `what` names it in messages, as
/// "the snapshot".
Result<std::string> whole_file(const std::string& path, std::string_view what);

}  // namespace sluice::tracker
