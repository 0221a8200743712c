// SPDX-License-Identifier: MIT
// The list of trackers that announces are forwarded to, as people write it:
//
//   - udp://tracker.example.org:6969/announce
//   - uri: https://tracker.example.net/announce
//     name: the other one       # of statistics; else host:port of the uri
//     ip: 203.0.113.7           # announced in place of the peer's address
//     host: tracker.internal    # the Host header; else that of the uri
//     bind: 192.0.2.7           # the address of this machine to send from
//     proxy: socks5://host:1080 # the way to it; not for udp
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/upstream_transport.h"

namespace sluice::cli {

inline constexpr std::size_t kForwardersMax = 10'000;
inline constexpr std::size_t kForwarderNameBytesMax = 255;

struct Forwarders {
  /// In the order of the file. Names are unique: where two entries without one are of the same
  /// host:port, the later is called host:port/udp, by its scheme, or host:port/udp/2.
  std::vector<tracker::UpstreamConfig> forwarders = {};
  /// What does not stop it: keys that there are not, and entries that are there twice, of which
  /// one is left out.
  std::vector<std::string> warnings = {};
};

/// `invalid_argument` names `name`, the line and what is wrong.
Result<Forwarders> parse_forwarders(const std::string& text, std::string_view name);
/// Of a file.
Result<Forwarders> read_forwarders(const std::string& path);

}  // namespace sluice::cli
