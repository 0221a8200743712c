// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tracker/checksum.h"
#include "tracker/snapshot.h"
#include "tracker/snapshot_format.h"
#include "tracker/whole_file.h"

namespace sluice::tracker {
namespace {

using namespace snapshot_format;

/// Takes values from the front. Once something is missing, it is spent and gives zeros.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  /// False, and spent, if there are fewer.
  bool has(std::uint64_t count) {
    if (count <= bytes_.size()) return true;
    bytes_ = {};
    spent_ = true;
    return false;
  }
  template <class Number>
  Number number() {
    Number value = 0;
    if (!has(sizeof value)) return 0;
    for (std::size_t i = 0; i < sizeof value; ++i)
      value = static_cast<Number>(
          value | static_cast<Number>(static_cast<Number>(static_cast<std::uint8_t>(bytes_[i]))
                                      << (8 * i)));
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  void copy_to(std::uint8_t* to, std::size_t count) {
    if (!has(count)) return;
    std::memcpy(to, bytes_.data(), count);
    bytes_.remove_prefix(count);
  }
  bool spent() const { return spent_; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool spent_ = false;
};

struct Group {
  bool is_v6 = false;
  bool is_seeder = false;
};
constexpr Group kGroups[] = {{false, true}, {false, false}, {true, true}, {true, false}};

PeerRecord read_peer(Reader& reader, const Group& group, std::uint32_t now) {
  PeerRecord record;
  Endpoint& endpoint = record.peer.endpoint;
  endpoint.is_v6 = group.is_v6;
  record.peer.is_seeder = group.is_seeder;
  std::uint8_t port[2] = {};
  reader.copy_to(endpoint.address.data(), group.is_v6 ? 16 : 4);
  reader.copy_to(port, sizeof port);
  endpoint.port = static_cast<std::uint16_t>(port[0] << 8 | port[1]);
  reader.copy_to(record.peer.id.bytes.data(), kPeerIdBytes);
  const auto age = reader.number<std::uint32_t>();
  record.has_completed = (age & kCompletedBit) != 0;
  record.stamp = now - std::min(now, age & ~kCompletedBit);
  return record;
}

SwarmRecord read_swarm(Reader& reader, std::uint32_t now) {
  SwarmRecord swarm;
  reader.copy_to(swarm.hash.bytes.data(), kHashBytes);
  swarm.downloads = reader.number<std::uint32_t>();
  std::uint32_t counts[4] = {};
  for (std::uint32_t& count : counts) count = reader.number<std::uint32_t>();
  const std::uint64_t v4 = std::uint64_t{counts[0]} + counts[1];
  const std::uint64_t v6 = std::uint64_t{counts[2]} + counts[3];
  if (!reader.has(v4 * (kCompactBytes4 + kKnownBytes) + v6 * (kCompactBytes6 + kKnownBytes)))
    return swarm;
  swarm.peers.reserve(v4 + v6);
  for (std::size_t group = 0; group < 4; ++group)
    for (std::uint32_t i = 0; i < counts[group]; ++i)
      swarm.peers.push_back(read_peer(reader, kGroups[group], now));
  return swarm;
}

/// Calls `enter` for every swarm. False if the bytes are not what they should be; what was read up
/// to there has been entered.
template <class Enter>
bool read_body(Reader reader, std::uint32_t now, const Enter& enter) {
  SnapshotSize size;
  for (auto kind = reader.number<std::uint8_t>(); kind != kEnd;
       kind = reader.number<std::uint8_t>()) {
    if (kind != kSwarm) return false;
    const SwarmRecord swarm = read_swarm(reader, now);
    if (reader.spent()) return false;
    ++size.swarms;
    size.peers += swarm.peers.size();
    enter(swarm);
  }
  return size.swarms == reader.number<std::uint64_t>() &&
         size.peers == reader.number<std::uint64_t>() && !reader.spent() && reader.empty();
}

Status check(std::string_view bytes, const std::string& path) {
  SLUICE_TRY(check_named(bytes, path));
  const auto damaged =
      error(Code::corrupt, fmt::format("the snapshot {} is damaged; the peers will come again by "
                                       "themselves",
                                       path));
  if (bytes.size() < kHeadBytes + 1 + kEndBytes + kSumBytes) return damaged.status;
  const std::string_view summed = bytes.substr(0, bytes.size() - kSumBytes);
  Reader sum(bytes.substr(summed.size()));
  if (sum.number<std::uint32_t>() != checksum(summed)) return damaged.status;
  const Reader body(summed.substr(kHeadBytes));
  return read_body(body, 0, [](const SwarmRecord&) {}) ? Status() : damaged.status;
}

}  // namespace

Status snapshot_format::check_named(std::string_view head, const std::string& path) {
  if (!head.starts_with(kMagic) || head.size() < kNamedBytes)
    return error(
        Code::invalid_argument,
        fmt::format("{} is no snapshot of a tracker: name another file, or remove it", path));
  const auto version = Reader(head.substr(kMagic.size())).number<std::uint32_t>();
  if (version == kVersion) return {};
  return error(Code::invalid_argument,
               fmt::format("{} is a snapshot of version {}, and this program reads version {}: "
                           "use the program that wrote it, or remove it",
                           path, version, kVersion));
}

Result<SnapshotSize> read_snapshot(Swarms& swarms, const std::string& path, const Clock& clock) {
  SLUICE_LET(bytes, whole_file(path, "the snapshot"));
  SLUICE_TRY(check(bytes, path));
  Reader reader(std::string_view(bytes).substr(kMagic.size() + sizeof kVersion));
  const Duration written(static_cast<std::int64_t>(reader.number<std::uint64_t>()));
  const MonoTime now = clock.mono();
  const Duration passed =
      std::max(clock.wall().time_since_epoch() - std::max(written, Duration{}), Duration{});
  const std::uint32_t stamp = stamp_of(now - passed);
  SnapshotSize entered{.bytes = bytes.size()};
  const std::string_view body(bytes.data() + kHeadBytes, bytes.size() - kHeadBytes - kSumBytes);
  read_body(Reader(body), stamp, [&](const SwarmRecord& swarm) {
    const std::size_t peers = swarms.restore(swarm, now);
    entered.swarms += peers == 0 ? 0 : 1;
    entered.peers += peers;
  });
  return entered;
}

}  // namespace sluice::tracker
