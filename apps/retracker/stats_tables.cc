// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "retracker/stats.h"
#include "tracker/hash_list.h"

namespace sluice::cli {

void write_tables(codec::json::Writer& writer, const Overview& all) {
  writer.name("hashes").array();
  for (const TorrentLine& line : all.largest) {
    const tracker::Counts& counts = line.row.counts;
    writer.object().name("info_hash").string(to_hex(line.row.hash));
    writer.name("seeders").number(counts.seeders).name("leechers").number(counts.leechers);
    writer.name("downloads").number(counts.downloads);
    writer.name("upstream_peers").number(line.upstream_peers).end_object();
  }
  writer.end_array().name("clients").array();
  for (const tracker::ClientRow& client : all.clients)
    writer.object()
        .name("name")
        .string(client.name)
        .name("peers")
        .number(client.peers)
        .end_object();
  writer.end_array();
}

std::string tables_text(const Overview& all) {
  std::string text;
  if (!all.largest.empty())
    text += fmt::format("\n{:<40} {:>8} {:>8} {:>9} {:>8}\n", "TORRENT", "SEEDERS", "LEECHERS",
                        "DOWNLOADS", "UPSTREAM");
  for (const TorrentLine& line : all.largest)
    text += fmt::format("{:<40} {:>8} {:>8} {:>9} {:>8}\n", to_hex(line.row.hash),
                        line.row.counts.seeders, line.row.counts.leechers,
                        line.row.counts.downloads, line.upstream_peers);
  if (!all.clients.empty()) text += fmt::format("\n{:<40} {:>8}\n", "CLIENT", "PEERS");
  for (const tracker::ClientRow& client : all.clients)
    text += fmt::format("{:<40} {:>8}\n", client.name, client.peers);
  return text;
}

}  // namespace sluice::cli
