// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace sluice::test {

/// The path of what the build put into the folder of this test program: a program that the test
/// starts, or a library that it preloads.
std::string beside_this_program(std::string_view name);

}  // namespace sluice::test
