// SPDX-License-Identifier: MIT
// The bytes of a snapshot (docs/format/retracker.md).
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tracker/announce.h"

namespace sluice::tracker::snapshot_format {

inline constexpr std::string_view kMagic = "SlSwarms";
inline constexpr std::uint32_t kVersion = 1;
/// The magic, the version and when it was written.
inline constexpr std::size_t kHeadBytes = 8 + 4 + 8;

/// Refuses what does not begin as a snapshot that this program can read. `head` is the file, or at
/// least so much of it.
inline constexpr std::size_t kNamedBytes = 8 + 4;
Status check_named(std::string_view head, const std::string& path);

inline constexpr std::uint8_t kSwarm = 1;
inline constexpr std::uint8_t kEnd = 0;
/// Of a swarm without its peers: the hash, the downloads, and four counts.
inline constexpr std::size_t kSwarmBytes = kHashBytes + 4 + 4 * 4;
/// Of a peer without its endpoint: the id and the age.
inline constexpr std::size_t kKnownBytes = kPeerIdBytes + 4;
/// The numbers of swarms and of peers.
inline constexpr std::size_t kEndBytes = 8 + 8;
inline constexpr std::size_t kSumBytes = 4;

/// In the age of a peer whose download was counted.
inline constexpr std::uint32_t kCompletedBit = 0x8000'0000;

}  // namespace sluice::tracker::snapshot_format
