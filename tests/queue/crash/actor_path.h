// SPDX-License-Identifier: MIT
// Where the build put the program that the tests start.
#pragma once

namespace sluice::test {

inline constexpr const char* kActorPath = SLUICE_QUEUE_ACTOR;

}  // namespace sluice::test
