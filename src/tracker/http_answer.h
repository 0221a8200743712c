// SPDX-License-Identifier: MIT
// What a tracker answers over HTTP: bencoded bodies (BEP 3, 7, 23, 24, 31, 48).
//
// Everything is appended to one string, in the order of the keys; nothing is built before.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/announce.h"
#include "tracker/retry_in.h"
#include "tracker/swarm.h"

namespace sluice::tracker {

/// What stands around the peers. The texts are views, which the caller keeps alive.
struct AnnounceReply {
  Counts counts = {};
  std::chrono::seconds interval{0};
  std::optional<std::chrono::seconds> min_interval = {};
  /// The client's own address as the tracker sees it.
  std::optional<Endpoint> external = {};
  std::string_view tracker_id = {};  ///< Empty: left out.
  std::string_view warning = {};     ///< Empty: left out.
};

/// The compact form. `peers` is there even if it is empty, since clients want it; `peers6` only if
/// it is not.
void append_announce(std::string& out, const AnnounceReply& reply, const PeerList& peers);

enum class PeerIds : std::uint8_t { shown, hidden };

/// The long form: a dictionary for every peer, of either family.
void append_announce(std::string& out, const AnnounceReply& reply, std::span<const Peer> peers,
                     PeerIds ids);

/// A refusal. Clients obey `interval` even where they do not know `retry`. The reason is a view,
/// which the caller keeps alive.
struct FailureReply {
  std::string_view reason = {};
  std::optional<std::chrono::seconds> interval = {};
  std::optional<std::chrono::seconds> min_interval = {};
  std::optional<RetryIn> retry = {};
};

void append_failure(std::string& out, const FailureReply& reply);

struct ScrapedFile {
  InfoHash hash = {};
  Counts counts = {};  ///< Zeros if nobody knows the hash.
};

/// In any order. A hash that stands twice is written once, with the counts of either.
void append_scrape(std::string& out, std::vector<ScrapedFile> files);

}  // namespace sluice::tracker
