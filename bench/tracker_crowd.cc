// SPDX-License-Identifier: MIT
#include "tracker_crowd.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::bench {
namespace {

constexpr std::uint32_t kFirstPort = 2000;
std::string escaped(std::uint32_t hash) {
  return fmt::format("%{:02x}", fmt::join(hash_of(hash).bytes, "%"));
}

}  // namespace

tracker::InfoHash hash_of(std::uint32_t number) {
  tracker::InfoHash hash;
  std::uint64_t state = number;
  for (std::uint8_t& byte : hash.bytes) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::uint8_t>(state >> 56);
  }
  return hash;
}

tracker::Announce announce_of(std::uint32_t hash, std::uint32_t peer) {
  tracker::Announce announce{.hash = hash_of(hash), .left = peer % 3, .wanted = kWanted};
  const std::string id = fmt::format("-BE0001-{:012}", peer);
  std::ranges::copy(id, announce.peer.bytes.begin());
  announce.endpoint.port = static_cast<std::uint16_t>(kFirstPort + peer);
  return announce;
}

std::string list_of(const Crowd& crowd) {
  std::string list;
  for (std::uint32_t i = 0; i < crowd.hashes; ++i)
    list += fmt::format("{:02x}\n", fmt::join(hash_of(crowd.first + i).bytes, ""));
  return list;
}

std::string wrk_script_of(const Crowd& crowd, const std::string& headers) {
  std::string hashes;
  for (std::uint32_t i = 0; i < crowd.hashes; ++i)
    hashes += fmt::format("'{}',\n", escaped(crowd.first + i));
  return fmt::format(R"(
local hashes = {{
{}}}
local headers = {{{}}}
function request()
  local peer = math.random(0, {} - 1)
  return wrk.format("GET", string.format(
    "/announce?info_hash=%s&peer_id=-BE0001-%012d&port=%d&uploaded=0&downloaded=0&left=%d" ..
    "&numwant={}&compact=1", hashes[math.random(#hashes)], peer, {} + peer, peer % 3), headers)
end
)",
                     hashes, headers, crowd.peers, kWanted, kFirstPort);
}

}  // namespace sluice::bench
