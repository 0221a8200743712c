// SPDX-License-Identifier: MIT
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>

namespace sluice::net {
namespace {

template <class T>
Address address_of(const T& specific) {
  Address address;
  std::memcpy(&address.storage, &specific, sizeof specific);
  address.bytes = sizeof specific;
  return address;
}

struct Block {
  const char* first;
  unsigned bits;
};

// What IANA's registry of special-purpose addresses calls not globally reachable, and multicast.
constexpr Block kNotPublic4[] = {
    {"0.0.0.0", 8},      {"10.0.0.0", 8},     {"100.64.0.0", 10}, {"127.0.0.0", 8},
    {"169.254.0.0", 16}, {"172.16.0.0", 12},  {"192.0.0.0", 24},  {"192.0.2.0", 24},
    {"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
    {"203.0.113.0", 24}, {"224.0.0.0", 4},    {"240.0.0.0", 4},
};
// Of 2000::/3. Outside of that nothing is public.
constexpr Block kNotPublic6[] = {
    {"2001::", 23}, {"2001:db8::", 32}, {"2002::", 16}, {"3fff::", 20}};

bool same_bits(const std::uint8_t* a, const std::uint8_t* b, unsigned bits) {
  const unsigned whole = bits / 8;
  if (std::memcmp(a, b, whole) != 0) return false;
  return bits % 8 == 0 || (a[whole] ^ b[whole]) >> (8 - bits % 8) == 0;
}

bool is_in(const Block& block, int family, const void* address) {
  std::uint8_t first[16] = {};
  inet_pton(family, block.first, first);
  return same_bits(first, static_cast<const std::uint8_t*>(address), block.bits);
}

bool is_public4(const void* four) {
  return std::ranges::none_of(kNotPublic4, [&](const Block& b) { return is_in(b, AF_INET, four); });
}

bool is_public6(const in6_addr& six) {
  if (IN6_IS_ADDR_V4MAPPED(&six)) return is_public4(six.s6_addr + 12);
  return is_in({"2000::", 3}, AF_INET6, &six) &&
         std::ranges::none_of(kNotPublic6,
                              [&](const Block& b) { return is_in(b, AF_INET6, &six); });
}

}  // namespace

std::optional<Address> numeric_address(const std::string& host, std::uint16_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) return address_of(four);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) return address_of(six);
  return std::nullopt;
}

Result<Address> unix_address(const std::string& path) {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof local.sun_path || path.find('\0') != path.npos)
    return error(Code::invalid_argument, "'" + path + "' is no path for a socket: 1 to " +
                                             std::to_string(sizeof local.sun_path - 1) + " bytes");
  std::memcpy(local.sun_path, path.c_str(), path.size() + 1);
  return address_of(local);
}

bool is_public(const Address& address) {
  if (address.storage.ss_family == AF_INET)
    return is_public4(&reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr);
  if (address.storage.ss_family == AF_INET6)
    return is_public6(reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr);
  return false;
}

std::string peer_name(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
    return text;
  }
  if (address.ss_family != AF_INET6) return "unix";
  const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&six))
    inet_ntop(AF_INET, six.s6_addr + 12, text, sizeof text);
  else
    inet_ntop(AF_INET6, &six, text, sizeof text);
  return text;
}

}  // namespace sluice::net
