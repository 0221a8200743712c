// SPDX-License-Identifier: MIT
// Many trackers in one process, each on a port of its own, which answer after a while.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::bench {

struct UpstreamsPlan {
  std::string list = {};        ///< The file of forwarders that is written.
  std::string scheme = "http";  ///< Or "udp".
  std::uint32_t upstreams = 100;
  std::uint32_t black_holes = 0;  ///< So many of them never answer.
  std::uint32_t hashes = 50;      ///< So many torrents are to be told to each.
};

/// A hidden command, with what words_of() makes. Tells its parent a 0 when all listen; then, when
/// all that do answer have answered an announce of every torrent, or when the time is over, how
/// many answers that were, and the time of the last on the monotonic clock in ns. Runs until it is
/// killed.
inline constexpr const char* kUpstreamsCommand = "child-upstreams";
std::vector<std::string> words_of(const UpstreamsPlan& plan);
Status upstreams_process(const std::vector<std::string>& words);

}  // namespace sluice::bench
