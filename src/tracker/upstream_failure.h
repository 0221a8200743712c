// SPDX-License-Identifier: MIT
// What is said of an upstream that did not do what it was asked.
#pragma once

#include <string>
#include <string_view>

#include "tracker/upstream_transport.h"

namespace sluice::tracker {

UpstreamResult unreachable(std::string reason);
UpstreamResult refused(std::string reason);

/// What an upstream says, fit for people: at most kUpstreamTextBytesMax bytes, no control
/// characters, no white space at either end. `otherwise` if nothing is left.
std::string spoken(std::string_view text, std::string_view otherwise);

}  // namespace sluice::tracker
