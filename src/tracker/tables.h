// SPDX-License-Identifier: MIT
// The largest torrents and the most frequent programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tracker/agent_names.h"
#include "tracker/announce.h"
#include "tracker/swarms.h"

namespace sluice::tracker {

struct TorrentRow {
  InfoHash hash = {};
  Counts counts = {};
};
struct ClientRow {
  std::string name = {};
  std::uint64_t peers = 0;
};
struct Tables {
  std::vector<TorrentRow> torrents = {};  ///< The largest first.
  std::vector<ClientRow> clients = {};    ///< The most frequent first.
};

/// So many names of programs are told apart; the others are counted as "other". Ids are made up by
/// whoever announces, so that there may be as many as peers.
inline constexpr std::size_t kClientNamesMax = 10'000;

/// At most `rows_max` of each; 0: none, at no cost. Looks at every peer: each shard is copied under
/// its lock, and looked at without.
Tables tables_of(const Swarms& swarms, const AgentNames& names, std::size_t rows_max);

}  // namespace sluice::tracker
