// SPDX-License-Identifier: MIT
#include "tracker/tables.h"

#include <algorithm>
#include <unordered_map>

namespace sluice::tracker {
namespace {

using Clients = std::unordered_map<std::string, std::uint64_t>;

template <class Array>
void count_clients(Clients& clients, const AgentNames& names, const Array& peers) {
  for (std::uint32_t at = 0; at < peers.size(); ++at) {
    std::string name = names.name_of(peers.known(at).id);
    if (clients.size() >= kClientNamesMax && !clients.contains(name)) name = "other";
    ++clients[name];
  }
}

/// Leaves the first `most` in their order.
template <class Row, class Before>
void keep_first(std::vector<Row>& rows, std::size_t most, const Before& before) {
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(most, rows.size()));
  std::partial_sort(rows.begin(), end, rows.end(), before);
  rows.erase(end, rows.end());
}

bool is_larger(const TorrentRow& a, const TorrentRow& b) {
  const auto size_of = [](const TorrentRow& row) {
    return std::uint64_t{row.counts.seeders} + row.counts.leechers;
  };
  return size_of(a) != size_of(b) ? size_of(a) > size_of(b) : a.hash < b.hash;
}

bool is_more_frequent(const ClientRow& a, const ClientRow& b) {
  return a.peers != b.peers ? a.peers > b.peers : a.name < b.name;
}

}  // namespace

Tables tables_of(const Swarms& swarms, const AgentNames& names, std::size_t rows_max) {
  Tables tables;
  if (rows_max == 0) return tables;
  Clients clients;
  for (std::size_t shard = 0; shard < Swarms::kShards; ++shard) {
    for (const Swarm& swarm : swarms.copy_shard(shard)) {
      tables.torrents.push_back({.hash = swarm.hash(), .counts = swarm.counts()});
      count_clients(clients, names, swarm.v4());
      count_clients(clients, names, swarm.v6());
    }
    keep_first(tables.torrents, rows_max, is_larger);
  }
  for (const auto& [name, peers] : clients)
    tables.clients.push_back({.name = name, .peers = peers});
  keep_first(tables.clients, rows_max, is_more_frequent);
  return tables;
}

}  // namespace sluice::tracker
