// SPDX-License-Identifier: MIT
// What an upstream tracker answers to an announce over HTTP, however sloppily (BEP 3, 7, 23, 31).
#pragma once

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracker/announce.h"
#include "tracker/retry_in.h"

namespace sluice::tracker {

/// Longer ones are taken for this.
inline constexpr std::chrono::seconds kUpstreamIntervalMax = std::chrono::hours(24);
inline constexpr std::chrono::minutes kUpstreamRetryMax = std::chrono::hours(24 * 365);
/// Longer texts for people are cut.
inline constexpr std::size_t kUpstreamTextBytesMax = 256;
/// A longer `tracker id` is as good as none.
inline constexpr std::size_t kTrackerIdBytesMax = 256;

struct UpstreamLimits {
  std::size_t peers_max = 1000;  ///< Of each family; the rest are dropped.
};

struct UpstreamAnswer {
  /// Why it refused; nothing if it did not. After a refusal there are no peers and no counts.
  std::optional<std::string> failure = {};
  /// Only beside a failure.
  std::optional<RetryIn> retry = {};
  std::optional<std::chrono::seconds> interval = {};
  std::optional<std::chrono::seconds> min_interval = {};
  std::optional<std::uint32_t> complete = {};
  std::optional<std::uint32_t> incomplete = {};
  std::optional<std::uint32_t> downloaded = {};
  PeerList peers = {};
  std::string tracker_id = {};
  std::string warning = {};
};

/// `invalid_argument` if `body` is no bencoded dictionary. Beyond that nothing is refused: a key of
/// the wrong kind is as good as absent, and so are an interval or a retry that is not positive and
/// a count that is negative. Peers may be a compact text or a list of dictionaries, under either
/// key; those without a port, without an address or with a name for one are dropped, and so is half
/// a peer at the end of a text. `retry in` may be a number, its digits, or "never".
Result<UpstreamAnswer> read_upstream_answer(std::string_view body, UpstreamLimits limits = {});

}  // namespace sluice::tracker
