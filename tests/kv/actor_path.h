// SPDX-License-Identifier: MIT
// Where the build put the programs that the tests start.
#pragma once

namespace sluice::test {

inline constexpr const char* kActorPath = SLUICE_KV_ACTOR;
#if defined(SLUICE_IO_RECORDER)
inline constexpr const char* kRecorderPath = SLUICE_IO_RECORDER;
#endif

}  // namespace sluice::test
