// SPDX-License-Identifier: MIT
// The names in the stores of the flows, which the tests fill and the actors work on.
#pragma once

namespace sluice::test {

/// The job that all others wait for is alone in its queue.
inline constexpr const char* kFirstQueue = "first";
inline constexpr const char* kFirstJob = "first";
/// Those that wait: one queue has one shard, the other has several.
inline constexpr const char* kLeftQueue = "left";
inline constexpr const char* kRightQueue = "right";

inline constexpr const char* kMemberQueue = "members";
inline constexpr const char* kBatchId = "all";
inline constexpr const char* kCallQueue = "callbacks";

inline constexpr const char* kTickQueue = "ticks";
inline constexpr const char* kTickName = "every minute";

}  // namespace sluice::test
