// SPDX-License-Identifier: MIT
// What is taken from a packet can be written as one, which means the same. Nothing is read beyond
// the packet or written beyond the room.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "tracker/udp_packet.h"

namespace {

namespace udp = sluice::tracker::udp;

/// The packet that says this again, in exactly `bytes` of room.
template <class T>
std::vector<std::uint8_t> written(const T& packet, std::size_t bytes) {
  std::vector<std::uint8_t> room(bytes);
  room.resize(udp::write(room, packet));
  return room;
}

std::vector<std::uint8_t> written(const udp::ScrapedCounts& counts, std::size_t bytes) {
  return written(udp::ScrapeAnswer{counts.transaction, counts.counts}, bytes);
}

void check_request(udp::Bytes packet) {
  const auto request = udp::read_request(packet);
  if (!request) return;
  const auto again =
      std::visit([&](const auto& read) { return written(read, packet.size()); }, *request);
  SLUICE_CHECK(again.size() <= packet.size());
  const auto reread = udp::read_request(again);
  SLUICE_CHECK(reread && reread->index() == request->index());
  const auto third =
      std::visit([&](const auto& read) { return written(read, packet.size()); }, *reread);
  SLUICE_CHECK(third == again);
  if (const auto* announce = std::get_if<udp::AnnounceRequest>(&*request)) {
    const std::string url = udp::url_data(announce->options);
    SLUICE_CHECK(udp::url_data(udp::url_options(url)) == url);
  }
}

void check_answer(udp::Bytes packet, udp::Family family) {
  const auto answer = udp::read_answer(packet, family);
  if (!answer) return;
  const auto again =
      std::visit([&](const auto& read) { return written(read, packet.size()); }, *answer);
  // But for a negative interval, which becomes 0.
  const bool is_announce = std::holds_alternative<udp::AnnounceAnswer>(*answer);
  const std::size_t from = is_announce ? 12 : 0;
  SLUICE_CHECK(again.size() >= from && again.size() <= packet.size());
  SLUICE_CHECK(std::equal(again.begin() + static_cast<std::ptrdiff_t>(from), again.end(),
                          packet.begin() + static_cast<std::ptrdiff_t>(from)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const udp::Bytes packet(data, size);
  check_request(packet);
  check_answer(packet, udp::Family::v4);
  check_answer(packet, udp::Family::v6);
  udp::url_data(packet);
  return 0;
}
