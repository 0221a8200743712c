// SPDX-License-Identifier: MIT
// Sets of addresses: proxies that are trusted, networks that are near.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracker/announce.h"

namespace sluice::tracker {

/// The addresses that begin with some bits.
struct Network {
  Endpoint first = {};  ///< Its port means nothing.
  unsigned bits = 0;    ///< 0 to 32, or to 128 for IPv6.

  bool contains(const Endpoint& endpoint) const;
};

/// "192.0.2.0/24", "2001:db8::/32"; without a slash one address. Mapped IPv4 is IPv4:
/// "::ffff:192.0.2.0/120" is the first of these. `invalid_argument` for what is neither, for too
/// many bits, and for an address that has others set than those that count.
Result<Network> parse_network(std::string_view text);

/// A set of networks. Thread-safe, as it never changes.
///
/// Cost: a look compares with one after another; meant for few.
class AddressList {
 public:
  /// Empty: contains nothing.
  AddressList() = default;
  explicit AddressList(std::vector<Network> networks) : networks_(std::move(networks)) {}

  /// `invalid_argument` names the first that is wrong.
  static Result<AddressList> parse(const std::vector<std::string>& networks);
  /// What is not routed over the internet and so is near: private, shared, link-local and loopback
  /// addresses.
  static AddressList local();

  /// By the address; the port does not matter.
  bool contains(const Endpoint& endpoint) const;
  bool empty() const { return networks_.empty(); }
  std::size_t size() const { return networks_.size(); }

 private:
  std::vector<Network> networks_;
};

}  // namespace sluice::tracker
