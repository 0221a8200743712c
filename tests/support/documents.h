// SPDX-License-Identifier: MIT
// The pages of docs/, for tests that hold what they say against the code.
#pragma once

#include <string>
#include <string_view>

namespace sluice::test {

/// The whole page, named from docs/ on: "format/queue.md". Stops the test program if it is not
/// there.
std::string read_document(std::string_view name);

}  // namespace sluice::test
