// SPDX-License-Identifier: MIT
#include "tracker/upstream_peers.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::tracker {
namespace {

/// Cut to whole peers, at most `count` of them.
void cut(std::string& peers, std::size_t bytes_each, std::size_t count) {
  peers.resize(std::min(peers.size() / bytes_each, count) * bytes_each);
}

std::string unique_peers(const std::vector<const std::string*>& lists, std::size_t bytes_each) {
  std::vector<std::string_view> peers;
  for (const std::string* list : lists)
    for (std::size_t at = 0; at < list->size(); at += bytes_each)
      peers.push_back(std::string_view(*list).substr(at, bytes_each));
  std::ranges::sort(peers);
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  std::string joined;
  joined.reserve(peers.size() * bytes_each);
  for (const std::string_view peer : peers) joined += peer;
  return joined;
}

/// `count` peers from a random place on, round the end.
std::string stretch(const std::string& peers, std::size_t bytes_each, std::size_t count,
                    Random& random) {
  const std::size_t all = peers.size() / bytes_each;
  if (count >= all) return peers;
  const std::size_t from = random.below(all) * bytes_each;
  const std::size_t bytes = count * bytes_each;
  const std::size_t before_end = std::min(bytes, peers.size() - from);
  std::string chosen;
  chosen.reserve(bytes);
  chosen.append(peers, from, before_end).append(peers, 0, bytes - before_end);
  return chosen;
}

}  // namespace

void UpstreamPeers::put(Answer answer) {
  cut(answer.peers.v4, kCompactBytes4, answer.peers_max);
  cut(answer.peers.v6, kCompactBytes6, answer.peers_max);
  Torrent& torrent = torrents_[answer.hash];
  torrent.is_merged = false;
  for (Kept& kept : torrent.kept) {
    if (kept.upstream != answer.upstream) continue;
    kept.peers = std::move(answer.peers);
    timers_.reschedule(kept.timer, answer.expires);
    return;
  }
  torrent.kept.push_back({.upstream = answer.upstream,
                          .peers = std::move(answer.peers),
                          .timer = timers_.add(answer.expires, Key{.hash = answer.hash,
                                                                   .upstream = answer.upstream})});
}

const PeerList& UpstreamPeers::merged_of(Torrent& torrent) {
  if (torrent.is_merged) return torrent.merged;
  std::vector<const std::string*> v4;
  std::vector<const std::string*> v6;
  for (const Kept& kept : torrent.kept) {
    v4.push_back(&kept.peers.v4);
    v6.push_back(&kept.peers.v6);
  }
  torrent.merged = {.v4 = unique_peers(v4, kCompactBytes4), .v6 = unique_peers(v6, kCompactBytes6)};
  torrent.is_merged = true;
  return torrent.merged;
}

std::size_t UpstreamPeers::count(const InfoHash& hash) {
  const auto found = torrents_.find(hash);
  return found == torrents_.end() ? 0 : merged_of(found->second).size();
}

PeerList UpstreamPeers::pick(const InfoHash& hash, std::size_t wanted, Random& random) {
  const auto found = torrents_.find(hash);
  if (found == torrents_.end()) return {};
  const PeerList& all = merged_of(found->second);
  wanted = std::min(wanted, all.size());
  if (wanted == 0) return {};
  // Rounded up, so that a few among many are not always left out.
  const std::size_t six = all.v6.size() / kCompactBytes6;
  const std::size_t wanted6 = (wanted * six + all.size() - 1) / all.size();
  return {.v4 = stretch(all.v4, kCompactBytes4, wanted - wanted6, random),
          .v6 = stretch(all.v6, kCompactBytes6, wanted6, random)};
}

void UpstreamPeers::expire(MonoTime now) {
  while (const auto key = timers_.pop_due(now)) {
    const auto found = torrents_.find(key->hash);
    if (found == torrents_.end()) continue;
    std::erase_if(found->second.kept,
                  [&](const Kept& kept) { return kept.upstream == key->upstream; });
    found->second.is_merged = false;
    if (found->second.kept.empty()) torrents_.erase(found);
  }
}

void UpstreamPeers::forget_upstream(std::uint32_t upstream) {
  for (auto torrent = torrents_.begin(); torrent != torrents_.end();) {
    std::vector<Kept>& kept = torrent->second.kept;
    for (const Kept& answer : kept)
      if (answer.upstream == upstream) timers_.cancel(answer.timer);
    if (std::erase_if(kept, [&](const Kept& answer) { return answer.upstream == upstream; }) > 0)
      torrent->second.is_merged = false;
    torrent = kept.empty() ? torrents_.erase(torrent) : std::next(torrent);
  }
}

}  // namespace sluice::tracker
