// SPDX-License-Identifier: MIT
#include "tracker/udp_packet.h"

#include <algorithm>
#include <type_traits>

#include "base/check.h"

namespace sluice::tracker::udp {
namespace {

constexpr std::uint64_t kProtocol = 0x41727101980;

enum Action : std::uint32_t { kConnect = 0, kAnnounce = 1, kScrape = 2, kError = 3 };
enum Option : std::uint8_t { kEnd = 0, kNothing = 1, kUrlData = 2 };

constexpr std::size_t kOptionBytesMax = 255;
constexpr std::size_t kRequestBytesMin = 16;
constexpr std::size_t kAnswerBytesMin = 8;

/// Takes numbers in network order from the beginning. The caller knows that they are there.
class Reader {
 public:
  explicit Reader(Bytes bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    T number = 0;
    for (const std::uint8_t byte : take(sizeof(T))) number = static_cast<T>(number << 8 | byte);
    return number;
  }
  Bytes take(std::size_t bytes) {
    const Bytes taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  void copy(Room to) { std::copy_n(take(to.size()).data(), to.size(), to.data()); }
  Bytes rest() const { return rest_; }

 private:
  Bytes rest_;
};

/// Puts numbers in network order; stops the process if there is no room.
class Packer {
 public:
  explicit Packer(Room room) : room_(room) {}

  template <class T>
  Packer& number(T number) {
    SLUICE_CHECK(left() >= sizeof(T));
    for (std::size_t i = sizeof(T); i-- > 0;)
      room_[bytes_++] = static_cast<std::uint8_t>(number >> (8 * i));
    return *this;
  }
  Packer& bytes(Bytes bytes) {
    SLUICE_CHECK(left() >= bytes.size());
    std::copy_n(bytes.data(), bytes.size(), room_.data() + bytes_);
    bytes_ += bytes.size();
    return *this;
  }
  std::size_t left() const { return room_.size() - bytes_; }
  std::size_t written() const { return bytes_; }

 private:
  Room room_;
  std::size_t bytes_ = 0;
};

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string_view view_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t entry_bytes(Family family) {
  return family == Family::v6 ? kCompactBytes6 : kCompactBytes4;
}

/// Seconds that a packet can tell.
std::uint32_t seconds_of(std::chrono::seconds interval) {
  constexpr std::int64_t kMost = INT32_MAX;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(interval.count(), 0, kMost));
}

AnnounceRequest read_announce_request(Bytes packet) {
  Reader reader(packet);
  AnnounceRequest request{.connection = reader.number<std::uint64_t>()};
  reader.take(sizeof(std::uint32_t));
  request.transaction = reader.number<std::uint32_t>();
  Announce& announce = request.announce;
  reader.copy(announce.hash.bytes);
  reader.copy(announce.peer.bytes);
  announce.downloaded = reader.number<std::uint64_t>();
  announce.left = reader.number<std::uint64_t>();
  announce.uploaded = reader.number<std::uint64_t>();
  const auto event = reader.number<std::uint32_t>();
  if (event <= static_cast<std::uint32_t>(Event::stopped))
    announce.event = static_cast<Event>(event);
  const Bytes address = reader.take(4);
  announce.key = reader.number<std::uint32_t>();
  const auto wanted = static_cast<std::int32_t>(reader.number<std::uint32_t>());
  if (wanted >= 0) announce.wanted = static_cast<std::uint32_t>(wanted);
  announce.endpoint.port = reader.number<std::uint16_t>();
  if (std::ranges::any_of(address, [](std::uint8_t byte) { return byte != 0; })) {
    request.claimed = Endpoint{.port = announce.endpoint.port};
    std::ranges::copy(address, request.claimed->address.begin());
  }
  request.options = reader.rest();
  return request;
}

ScrapeRequest read_scrape_request(Bytes packet) {
  static_assert(sizeof(InfoHash) == kHashBytes && alignof(InfoHash) == 1 &&
                std::is_trivially_copyable_v<InfoHash>);
  Reader reader(packet);
  ScrapeRequest request{.connection = reader.number<std::uint64_t>()};
  reader.take(sizeof(std::uint32_t));
  request.transaction = reader.number<std::uint32_t>();
  const std::size_t count = std::min(reader.rest().size() / kHashBytes, kHashesMax);
  request.hashes = {reinterpret_cast<const InfoHash*>(reader.rest().data()), count};
  return request;
}

AnnounceAnswer read_announce_answer(std::uint32_t transaction, Reader reader, Family family) {
  AnnounceAnswer answer{.transaction = transaction, .family = family};
  const auto interval = static_cast<std::int32_t>(reader.number<std::uint32_t>());
  answer.interval = std::chrono::seconds(std::max(interval, 0));
  answer.counts.leechers = reader.number<std::uint32_t>();
  answer.counts.seeders = reader.number<std::uint32_t>();
  const std::size_t size = reader.rest().size();
  answer.peers = view_of(reader.rest().first(size - size % entry_bytes(family)));
  return answer;
}

ScrapedCounts read_scrape_answer(std::uint32_t transaction, Reader reader) {
  ScrapedCounts answer{.transaction = transaction};
  answer.counts.resize(std::min(reader.rest().size() / kScrapedBytes, kHashesMax));
  for (Counts& counts : answer.counts) {
    counts.seeders = reader.number<std::uint32_t>();
    counts.downloads = reader.number<std::uint32_t>();
    counts.leechers = reader.number<std::uint32_t>();
  }
  return answer;
}

}  // namespace

std::optional<Request> read_request(Bytes packet) {
  if (packet.size() < kRequestBytesMin) return std::nullopt;
  Reader reader(packet);
  const auto first = reader.number<std::uint64_t>();
  switch (reader.number<std::uint32_t>()) {
    case kConnect:
      if (first != kProtocol) return std::nullopt;
      return ConnectRequest{.transaction = reader.number<std::uint32_t>()};
    case kAnnounce:
      if (packet.size() < kAnnounceRequestBytes) return std::nullopt;
      return read_announce_request(packet);
    case kScrape:
      if (packet.size() < kScrapeRequestBytes + kHashBytes) return std::nullopt;
      return read_scrape_request(packet);
    default:
      return std::nullopt;
  }
}

std::size_t write(Room room, const ConnectAnswer& answer) {
  Packer packer(room);
  packer.number(std::uint32_t{kConnect}).number(answer.transaction).number(answer.connection);
  return packer.written();
}

std::size_t write(Room room, const AnnounceAnswer& answer) {
  Packer packer(room);
  packer.number(std::uint32_t{kAnnounce}).number(answer.transaction);
  packer.number(seconds_of(answer.interval));
  packer.number(answer.counts.leechers).number(answer.counts.seeders);
  const std::size_t fit = std::min(answer.peers.size(), packer.left());
  packer.bytes(bytes_of(answer.peers.substr(0, fit - fit % entry_bytes(answer.family))));
  return packer.written();
}

std::size_t write(Room room, const ScrapeAnswer& answer) {
  SLUICE_CHECK(answer.counts.size() <= kHashesMax);
  Packer packer(room);
  packer.number(std::uint32_t{kScrape}).number(answer.transaction);
  for (const Counts& counts : answer.counts)
    packer.number(counts.seeders).number(counts.downloads).number(counts.leechers);
  return packer.written();
}

std::size_t write(Room room, const ErrorAnswer& answer) {
  Packer packer(room);
  packer.number(std::uint32_t{kError}).number(answer.transaction);
  packer.bytes(bytes_of(answer.text.substr(0, packer.left())));
  return packer.written();
}

std::size_t write(Room room, const ConnectRequest& request) {
  Packer packer(room);
  packer.number(kProtocol).number(std::uint32_t{kConnect}).number(request.transaction);
  return packer.written();
}

std::size_t write(Room room, const AnnounceRequest& request) {
  const Announce& announce = request.announce;
  constexpr std::uint32_t kMost = INT32_MAX;
  constexpr std::uint32_t kNone = UINT32_MAX;
  const bool named = request.claimed && !request.claimed->is_v6;
  const Endpoint address = named ? *request.claimed : Endpoint();
  Packer packer(room);
  packer.number(request.connection).number(std::uint32_t{kAnnounce}).number(request.transaction);
  packer.bytes(announce.hash.bytes).bytes(announce.peer.bytes);
  packer.number(announce.downloaded).number(announce.left).number(announce.uploaded);
  packer.number(static_cast<std::uint32_t>(announce.event));
  packer.bytes(Bytes(address.address).first(4)).number(announce.key);
  packer.number(announce.wanted ? std::min(*announce.wanted, kMost) : kNone);
  packer.number(announce.endpoint.port).bytes(request.options);
  return packer.written();
}

std::size_t write(Room room, const ScrapeRequest& request) {
  SLUICE_CHECK(!request.hashes.empty() && request.hashes.size() <= kHashesMax);
  Packer packer(room);
  packer.number(request.connection).number(std::uint32_t{kScrape}).number(request.transaction);
  for (const InfoHash& hash : request.hashes) packer.bytes(hash.bytes);
  return packer.written();
}

std::optional<Answer> read_answer(Bytes packet, Family family) {
  if (packet.size() < kAnswerBytesMin) return std::nullopt;
  Reader reader(packet);
  const auto action = reader.number<std::uint32_t>();
  const auto transaction = reader.number<std::uint32_t>();
  switch (action) {
    case kConnect:
      if (packet.size() < kConnectAnswerBytes) return std::nullopt;
      return ConnectAnswer{transaction, reader.number<std::uint64_t>()};
    case kAnnounce:
      if (packet.size() < kAnnounceAnswerBytes) return std::nullopt;
      return read_announce_answer(transaction, reader, family);
    case kScrape:
      return read_scrape_answer(transaction, reader);
    case kError:
      return ErrorAnswer{transaction, view_of(reader.rest())};
    default:
      return std::nullopt;
  }
}

std::string url_data(Bytes options) {
  std::string joined;
  while (!options.empty()) {
    const std::uint8_t kind = options.front();
    options = options.subspan(1);
    if (kind == kEnd) break;
    if (kind == kNothing) continue;
    if (options.empty() || options.front() > options.size() - 1) break;
    const Bytes content = options.subspan(1, options.front());
    if (kind == kUrlData) joined += view_of(content);
    options = options.subspan(1 + content.size());
  }
  return joined;
}

std::vector<std::uint8_t> url_options(std::string_view url_data) {
  std::vector<std::uint8_t> options;
  while (!url_data.empty()) {
    const std::string_view piece = url_data.substr(0, kOptionBytesMax);
    options.push_back(kUrlData);
    options.push_back(static_cast<std::uint8_t>(piece.size()));
    options.insert(options.end(), piece.begin(), piece.end());
    url_data.remove_prefix(piece.size());
  }
  return options;
}

}  // namespace sluice::tracker::udp
