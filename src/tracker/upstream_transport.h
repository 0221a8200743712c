// SPDX-License-Identifier: MIT
// How an upstream tracker is told something. Whoever speaks HTTP or UDP implements it; tests
// replace it.
#pragma once

#include <sluice/clock.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tracker/announce.h"
#include "tracker/retry_in.h"

namespace sluice::tracker {

/// A tracker that announces are forwarded to.
struct UpstreamConfig {
  std::string name = {};   ///< Unique in a list.
  std::string uri = {};    ///< http, https or udp.
  std::string ip = {};     ///< The address to announce instead of the peer's; empty: the peer's.
  std::string host = {};   ///< The Host header; empty: that of the uri.
  std::string proxy = {};  ///< As net/proxy.h has it; empty: none. Only for http and https.
  std::string bind = {};   ///< The address of this machine to send from; empty: any.

  friend bool operator==(const UpstreamConfig&, const UpstreamConfig&) = default;
};

struct UpstreamRequest {
  /// Never null. Shared, as a reload may forget the upstream before its answer is here.
  std::shared_ptr<const UpstreamConfig> upstream = {};
  Announce announce = {};
  std::string tracker_id = {};  ///< What it called itself in its last answer about the torrent.
  Duration timeout = {};        ///< From the call to the answer.
};

enum class UpstreamOutcome : std::uint8_t {
  ok,
  refused,      ///< A failure reason, or a status such as 404: about this torrent only.
  busy,         ///< 429 or 503: about the upstream, for a while.
  unreachable,  ///< No answer, or none that makes sense: name, connection, timeout, garbage.
};

struct UpstreamResult {
  UpstreamOutcome outcome = UpstreamOutcome::unreachable;
  std::string reason = {};  ///< Why it is not ok, for people.
  /// Of an answer that is ok; nothing: it did not say.
  std::optional<Duration> interval = {};
  std::optional<Duration> min_interval = {};
  PeerList peers = {};
  std::string tracker_id = {};               ///< Empty: it did not say.
  std::optional<RetryIn> retry_in = {};      ///< Of one that is refused.
  std::optional<Duration> retry_after = {};  ///< Of one that is busy.
};

class UpstreamTransport {
 public:
  using Done = std::function<void(UpstreamResult)>;

  virtual ~UpstreamTransport() = default;
  /// Returns without waiting. Calls `done` exactly once, at the latest when the timeout is over, on
  /// any thread, also before it returns.
  virtual void announce(const UpstreamRequest& request, Done done) = 0;
};

}  // namespace sluice::tracker
