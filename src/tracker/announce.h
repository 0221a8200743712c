// SPDX-License-Identifier: MIT
// What a peer tells a tracker, and what the tracker answers, whichever protocol they speak.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::tracker {

inline constexpr std::size_t kHashBytes = 20;
inline constexpr std::size_t kPeerIdBytes = 20;
/// Of one peer in a compact list: address and port in network order.
inline constexpr std::size_t kCompactBytes4 = 6;
inline constexpr std::size_t kCompactBytes6 = 18;

/// The name of a torrent: any 20 bytes.
struct InfoHash {
  std::array<std::uint8_t, kHashBytes> bytes = {};
  friend auto operator<=>(const InfoHash&, const InfoHash&) = default;
};

/// What a peer calls itself: any 20 bytes.
struct PeerId {
  std::array<std::uint8_t, kPeerIdBytes> bytes = {};
  friend auto operator<=>(const PeerId&, const PeerId&) = default;
};

/// Where a peer can be reached. An IPv4 address that came mapped into IPv6 is an IPv4 address.
struct Endpoint {
  std::array<std::uint8_t, 16> address = {};  ///< In network order; of IPv4 the first four.
  std::uint16_t port = 0;
  bool is_v6 = false;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

/// Numbered as on the wire (BEP 15).
enum class Event : std::uint8_t { none = 0, completed = 1, started = 2, stopped = 3 };

struct Announce {
  InfoHash hash = {};
  PeerId peer = {};
  /// Where others find it: the address that the packet came from, or the one that it may name.
  Endpoint endpoint = {};
  std::uint64_t uploaded = 0;
  std::uint64_t downloaded = 0;
  std::uint64_t left = 0;  ///< 0: it has everything, it is a seeder.
  Event event = Event::none;
  /// How many peers it wants; nothing: as many as the tracker gives by itself.
  std::optional<std::uint32_t> wanted = {};
  std::uint32_t key = 0;  ///< Names a peer whose address changes. Told to upstreams as it came.

  bool is_seeder() const { return left == 0; }
};

/// How many peers of a swarm there are.
struct Counts {
  std::uint32_t seeders = 0;
  std::uint32_t leechers = 0;
  std::uint32_t downloads = 0;  ///< `completed` events, ever.
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// Peers as they go over the wire, kCompactBytes4 or kCompactBytes6 each.
struct PeerList {
  std::string v4 = {};
  std::string v6 = {};

  std::size_t size() const { return v4.size() / kCompactBytes4 + v6.size() / kCompactBytes6; }
};

}  // namespace sluice::tracker
