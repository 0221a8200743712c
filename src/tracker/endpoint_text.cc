// SPDX-License-Identifier: MIT
#include "tracker/endpoint_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace sluice::tracker {
namespace {

constexpr std::size_t kAddressBytes4 = 4;
constexpr std::size_t kAddressBytes6 = 16;
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

Endpoint endpoint_of_bytes(std::span<const std::uint8_t> address, std::uint16_t port) {
  if (address.size() == kAddressBytes6 &&
      std::ranges::equal(address.first(kMapped.size()), kMapped))
    address = address.subspan(kMapped.size());
  Endpoint endpoint{.port = port, .is_v6 = address.size() == kAddressBytes6};
  std::ranges::copy(address, endpoint.address.begin());
  return endpoint;
}

}  // namespace

std::optional<Endpoint> endpoint_of(std::string_view text, std::uint16_t port) {
  // inet_pton() wants a text that ends with NUL, and would not see what follows another.
  std::array<char, INET6_ADDRSTRLEN> ended = {};
  if (text.size() >= ended.size() || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::ranges::copy(text, ended.begin());
  std::array<std::uint8_t, kAddressBytes6> address = {};
  if (inet_pton(AF_INET, ended.data(), address.data()) == 1)
    return endpoint_of_bytes(std::span(address).first(kAddressBytes4), port);
  if (inet_pton(AF_INET6, ended.data(), address.data()) == 1)
    return endpoint_of_bytes(address, port);
  return std::nullopt;
}

void append_address(std::string& out, const Endpoint& endpoint) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(endpoint.is_v6 ? AF_INET6 : AF_INET, endpoint.address.data(), text, sizeof text);
  out += text;
}

Endpoint endpoint_of_compact(std::span<const std::uint8_t> entry) {
  SLUICE_CHECK(entry.size() == kCompactBytes4 || entry.size() == kCompactBytes6);
  const auto port = entry.last(2);
  return endpoint_of_bytes(entry.first(entry.size() - 2),
                           static_cast<std::uint16_t>(port[0] << 8 | port[1]));
}

void append_compact(PeerList& peers, const Endpoint& endpoint) {
  std::string& out = endpoint.is_v6 ? peers.v6 : peers.v4;
  const std::size_t bytes = endpoint.is_v6 ? kAddressBytes6 : kAddressBytes4;
  out.append(reinterpret_cast<const char*>(endpoint.address.data()), bytes);
  out += static_cast<char>(endpoint.port >> 8);
  out += static_cast<char>(endpoint.port & 0xff);
}

}  // namespace sluice::tracker
