// SPDX-License-Identifier: MIT
// The torrents and peers that bench_tracker announces.
#pragma once

#include <cstdint>
#include <string>

#include "tracker/announce.h"

namespace sluice::bench {

/// How many peers an announce wants.
inline constexpr std::uint32_t kWanted = 30;

/// So many torrents from `first` on, each with so many peers, all at the sender's address.
struct Crowd {
  std::uint32_t first = 0;
  std::uint32_t hashes = 1;
  std::uint32_t peers = 1;  ///< At most 60,000, as each has a port of its own.
};

tracker::InfoHash hash_of(std::uint32_t number);
/// Peer `peer` of that torrent, without an address; two of three are leechers.
tracker::Announce announce_of(std::uint32_t hash, std::uint32_t peer);

/// Its torrents, one in a line, as opentracker reads them.
std::string list_of(const Crowd& crowd);
/// Lua for wrk: announces of its peers by chance, with these header fields.
std::string wrk_script_of(const Crowd& crowd, const std::string& headers);

}  // namespace sluice::bench
