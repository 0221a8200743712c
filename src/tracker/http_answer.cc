// SPDX-License-Identifier: MIT
#include "tracker/http_answer.h"

#include <algorithm>

#include "tracker/bencode.h"
#include "tracker/endpoint_text.h"

namespace sluice::tracker {
namespace {

using bencode::Writer;

std::string_view view_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_before_peers(Writer& writer, const AnnounceReply& reply) {
  writer.dict().key("complete").integer(reply.counts.seeders);
  writer.key("downloaded").integer(reply.counts.downloads);
  if (reply.external) {
    const std::size_t bytes = reply.external->is_v6 ? 16 : 4;
    writer.key("external ip").string(view_of(std::span(reply.external->address).first(bytes)));
  }
  writer.key("incomplete").integer(reply.counts.leechers);
  writer.key("interval").integer(reply.interval.count());
  if (reply.min_interval) writer.key("min interval").integer(reply.min_interval->count());
}

void write_after_peers(Writer& writer, const AnnounceReply& reply) {
  if (!reply.tracker_id.empty()) writer.key("tracker id").string(reply.tracker_id);
  if (!reply.warning.empty()) writer.key("warning message").string(reply.warning);
  writer.end();
}

}  // namespace

void append_announce(std::string& out, const AnnounceReply& reply, const PeerList& peers) {
  constexpr std::size_t kAround = 200;
  out.reserve(out.size() + kAround + peers.v4.size() + peers.v6.size());
  Writer writer(out);
  write_before_peers(writer, reply);
  writer.key("peers").string(peers.v4);
  if (!peers.v6.empty()) writer.key("peers6").string(peers.v6);
  write_after_peers(writer, reply);
}

void append_announce(std::string& out, const AnnounceReply& reply, std::span<const Peer> peers,
                     PeerIds ids) {
  Writer writer(out);
  write_before_peers(writer, reply);
  writer.key("peers").list();
  std::string address;
  for (const Peer& peer : peers) {
    address.clear();
    append_address(address, peer.endpoint);
    writer.dict().key("ip").string(address);
    if (ids == PeerIds::shown) writer.key("peer id").string(view_of(peer.id.bytes));
    writer.key("port").integer(peer.endpoint.port).end();
  }
  writer.end();
  write_after_peers(writer, reply);
}

void append_failure(std::string& out, const FailureReply& reply) {
  Writer writer(out);
  writer.dict().key("failure reason").string(reply.reason);
  if (reply.interval) writer.key("interval").integer(reply.interval->count());
  if (reply.min_interval) writer.key("min interval").integer(reply.min_interval->count());
  if (reply.retry) {
    writer.key("retry in");
    if (reply.retry->never)
      writer.string("never");
    else
      writer.integer(reply.retry->after.count());
  }
  writer.end();
}

void append_scrape(std::string& out, std::vector<ScrapedFile> files) {
  std::ranges::sort(files, {}, &ScrapedFile::hash);
  const auto twice = std::ranges::unique(files, {}, &ScrapedFile::hash);
  files.erase(twice.begin(), twice.end());
  Writer writer(out);
  writer.dict().key("files").dict();
  for (const ScrapedFile& file : files) {
    writer.key(view_of(file.hash.bytes)).dict();
    writer.key("complete").integer(file.counts.seeders);
    writer.key("downloaded").integer(file.counts.downloads);
    writer.key("incomplete").integer(file.counts.leechers).end();
  }
  writer.end().end();
}

}  // namespace sluice::tracker
