// SPDX-License-Identifier: MIT
#include "tracker/address_list.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace sluice::tracker {
namespace {

constexpr unsigned kMappedBits = 96;
constexpr std::uint8_t kMappedPrefix[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
static_assert(sizeof kMappedPrefix * 8 == kMappedBits);

unsigned bits_max(const Endpoint& address) {
  return address.is_v6 ? 128 : 32;
}

bool bit_at(const Endpoint& address, unsigned bit) {
  return (address.address[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

std::optional<Endpoint> parse_address(const std::string& text) {
  Endpoint address;
  if (inet_pton(AF_INET, text.c_str(), address.address.data()) == 1) return address;
  address.is_v6 = true;
  if (inet_pton(AF_INET6, text.c_str(), address.address.data()) == 1) return address;
  return std::nullopt;
}

/// A plain number without signs or leading zeros.
std::optional<unsigned> parse_bits(std::string_view text) {
  unsigned bits = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, bits);
  const bool plain = !text.empty() && (text[0] != '0' || text.size() == 1);
  if (problem != std::errc() || stop != end || !plain) return std::nullopt;
  return bits;
}

void unmap(Network& network) {
  auto& bytes = network.first.address;
  if (!network.first.is_v6 || network.bits < kMappedBits ||
      std::memcmp(bytes.data(), kMappedPrefix, sizeof kMappedPrefix) != 0)
    return;
  std::copy(bytes.begin() + sizeof kMappedPrefix, bytes.end(), bytes.begin());
  std::fill(bytes.begin() + 4, bytes.end(), std::uint8_t{0});
  network.first.is_v6 = false;
  network.bits -= kMappedBits;
}

}  // namespace

bool Network::contains(const Endpoint& endpoint) const {
  if (endpoint.is_v6 != first.is_v6) return false;
  const unsigned whole = bits / 8;
  if (std::memcmp(endpoint.address.data(), first.address.data(), whole) != 0) return false;
  return bits % 8 == 0 || (endpoint.address[whole] ^ first.address[whole]) >> (8 - bits % 8) == 0;
}

Result<Network> parse_network(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return error(Code::invalid_argument, fmt::format("'{}' is no network: {}", text, why));
  };
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto address = parse_address(std::string(text.substr(0, slash)));
  if (!address || text.find('\0') != text.npos)
    return wrong("write an address, or one with its bits, as 192.0.2.0/24 or 2001:db8::/32");
  Network network{.first = *address, .bits = bits_max(*address)};
  if (slash < text.size()) {
    const auto bits = parse_bits(text.substr(slash + 1));
    if (!bits || *bits > network.bits)
      return wrong(fmt::format("after the slash comes a number from 0 to {}", network.bits));
    network.bits = *bits;
  }
  for (unsigned bit = network.bits; bit < bits_max(*address); ++bit)
    if (bit_at(*address, bit))
      return wrong(fmt::format("past its first {} bits there must be zeros", network.bits));
  unmap(network);
  return network;
}

Result<AddressList> AddressList::parse(const std::vector<std::string>& networks) {
  std::vector<Network> parsed;
  for (const std::string& text : networks) {
    SLUICE_LET(network, parse_network(text));
    parsed.push_back(network);
  }
  return AddressList(std::move(parsed));
}

AddressList AddressList::local() {
  const auto list = parse({"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
                           "172.16.0.0/12", "192.168.0.0/16", "::1", "fc00::/7", "fe80::/10"});
  return list.value_or(AddressList());
}

bool AddressList::contains(const Endpoint& endpoint) const {
  return std::ranges::any_of(networks_,
                             [&](const Network& network) { return network.contains(endpoint); });
}

}  // namespace sluice::tracker
