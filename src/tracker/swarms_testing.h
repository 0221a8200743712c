// SPDX-License-Identifier: MIT
// What the tests of the swarms share.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tracker/announce.h"

namespace sluice::tracker {

inline InfoHash hash_number(std::uint32_t number) {
  InfoHash hash;
  for (std::size_t i = 0; i < 4; ++i)
    hash.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i) & 0xff);
  return hash;
}

inline PeerId id_number(std::uint32_t number) {
  PeerId id;
  for (std::size_t i = 0; i < 4; ++i)
    id.bytes[8 + i] = static_cast<std::uint8_t>(number >> (8 * i) & 0xff);
  return id;
}

/// Of 24 bits: two ports of each address, so that neither alone tells peers apart.
inline Endpoint endpoint_number(std::uint32_t number, bool is_v6 = false) {
  Endpoint endpoint{.port = static_cast<std::uint16_t>(6881 + number % 2), .is_v6 = is_v6};
  const std::size_t last = is_v6 ? 15 : 3;
  endpoint.address[0] = is_v6 ? 0x20 : 10;
  for (std::size_t i = 0; i < 3; ++i)
    endpoint.address[last - i] = static_cast<std::uint8_t>((number / 2) >> (8 * i) & 0xff);
  return endpoint;
}

/// A leecher that starts, unless it is told otherwise.
inline Announce announce_of(std::uint32_t hash, std::uint32_t peer, bool is_v6 = false) {
  return {.hash = hash_number(hash),
          .peer = id_number(peer),
          .endpoint = endpoint_number(peer, is_v6),
          .left = 1,
          .event = Event::started};
}

/// The endpoints of a compact list, in order.
inline std::vector<Endpoint> endpoints_of(const PeerList& list) {
  std::vector<Endpoint> endpoints;
  const auto add = [&](const std::string& bytes, std::size_t address_bytes, bool is_v6) {
    for (std::size_t at = 0; at + address_bytes + 2 <= bytes.size(); at += address_bytes + 2) {
      Endpoint endpoint{.is_v6 = is_v6};
      const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data() + at);
      for (std::size_t i = 0; i < address_bytes; ++i) endpoint.address[i] = from[i];
      endpoint.port =
          static_cast<std::uint16_t>(from[address_bytes] << 8 | from[address_bytes + 1]);
      endpoints.push_back(endpoint);
    }
  };
  add(list.v4, 4, false);
  add(list.v6, 16, true);
  return endpoints;
}

inline std::set<Endpoint> set_of(const PeerList& list) {
  const auto endpoints = endpoints_of(list);
  return {endpoints.begin(), endpoints.end()};
}

}  // namespace sluice::tracker
