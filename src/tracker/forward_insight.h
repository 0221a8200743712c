// SPDX-License-Identifier: MIT
// What the forward engine shows of itself.
#pragma once

#include <sluice/clock.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "tracker/announce.h"
#include "tracker/upstream.h"

namespace sluice::tracker {

/// Why a job was given up before it was sent.
enum class DropReason : std::uint8_t {
  full,       ///< It found the queue full.
  displaced,  ///< It made room in a full queue for a more urgent one.
  blocked,    ///< A peer left, and its upstream could not be told for long.
};
inline constexpr std::size_t kDropReasons = 3;
const char* drop_reason_name(DropReason reason);

/// Jobs since the start. created = succeeded + failed + cancelled + the drops + those pending.
struct JobCounts {
  std::uint64_t created = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;  ///< Refused, or out of attempts.
  /// The peer left, the upstream was disabled or removed, or it asked for patience meanwhile.
  std::uint64_t cancelled = 0;
  std::array<std::uint64_t, kDropReasons> dropped = {};

  std::uint64_t dropped_total() const { return dropped[0] + dropped[1] + dropped[2]; }
};

struct ScheduledJob {
  InfoHash hash = {};
  PeerId peer = {};
  std::string upstream = {};
  Duration time_to_run = {};
};

struct UpstreamInsight {
  std::string name = {};
  std::string uri = {};
  UpstreamState state = UpstreamState::ok;
  std::string reason = {};      ///< Empty if it is ok.
  Duration next_try = {};       ///< From now; 0: at any time. Without meaning if it is disabled.
  Duration response_time = {};  ///< The mean.
  /// Of every answer, and it goes on counting; null before the first. Whoever looks may be the last
  /// to hold it.
  std::shared_ptr<const Histogram> response_ns = {};
  std::uint32_t in_flight = 0;
  UpstreamCounts counts = {};
};

/// The first so many scheduled jobs are listed.
inline constexpr std::size_t kScheduledListed = 10;

/// All of one moment.
struct ForwardInsight {
  std::size_t depth = 0;
  std::size_t capacity = 0;
  std::uint64_t fill_pct = 0;
  std::uint32_t slots = 0;
  std::uint32_t slots_max = 0;
  std::size_t queued = 0;
  std::size_t scheduled = 0;
  std::size_t running = 0;
  std::size_t pending = 0;  ///< The sum of these three.
  JobCounts jobs = {};
  /// How long after their time the jobs that the clock begins were sent: refreshes and retries, but
  /// not what waited for an upstream that rests. It goes on counting; whoever looks may be the last
  /// to hold it.
  std::shared_ptr<const Histogram> lateness_ns = {};
  std::uint64_t dropped_full = 0;  ///< Jobs and first announces that a full queue cost.
  std::uint64_t rate_limited = 0;  ///< First announces that got no token.
  std::uint64_t throttled = 0;     ///< Announces that fewer upstreams heard of, by the fill.
  std::size_t local_peers = 0;
  std::size_t torrents = 0;
  std::vector<ScheduledJob> next = {};  ///< The first of them, in their order.
  std::vector<UpstreamInsight> upstreams = {};
};

}  // namespace sluice::tracker
