// SPDX-License-Identifier: MIT
// What a client asks over HTTP: the targets /announce?... and /scrape?... (BEP 3, 7, 23, 48).
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/announce.h"

namespace sluice::tracker {

/// As many as a packet of UDP holds.
inline constexpr std::size_t kScrapeHashesMax = 74;
/// What `left` is taken for if it is absent: nobody is a seeder by accident.
inline constexpr std::uint64_t kLeftUnknown = std::numeric_limits<std::int64_t>::max();

struct QueryOptions {
  /// A bare '+' is itself, as trackers read it, or a space, as forms write it.
  bool plus_is_space = false;
};

struct HttpAnnounce {
  /// Its endpoint has the port only: the address is the caller's to fill in.
  Announce announce = {};
  bool compact = true;
  bool no_peer_id = false;
  /// What `ip` says, with the port; nothing if it is absent or a name. Whether to believe it is the
  /// caller's to judge.
  std::optional<Endpoint> claimed = {};
  std::string tracker_id = {};
};

/// Reads the query of `target`; the path is not looked at. Of a key that stands twice the first
/// counts; unknown keys are passed over, and so is a key without a value.
///
///   info_hash, peer_id          20 bytes each; must be there
///   port                        1 to 65535; may be absent or 0 if the event is `stopped`
///   uploaded, downloaded, left  decimal, 64 bits; absent: 0, 0, kLeftUnknown
///   event                       started, completed or stopped; anything else is none
///   numwant                     decimal; negative or absent: nothing is wanted in particular
///   compact, no_peer_id         0 is no, anything else is yes
///   key                         up to 8 hex digits are the number; other texts are hashed to one
///
/// Every failure is `invalid_argument`, with a message for the client to show.
Result<HttpAnnounce> read_http_announce(std::string_view target, QueryOptions options = {});

/// The hashes in the order of the query, with those that stand twice. `invalid_argument` if one is
/// not 20 bytes or there is none, since nobody gets a list of everything; `limit_exceeded` if there
/// are more than kScrapeHashesMax.
Result<std::vector<InfoHash>> read_http_scrape(std::string_view target, QueryOptions options = {});

}  // namespace sluice::tracker
