// SPDX-License-Identifier: MIT
#include "udp_load.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sluice/clock.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <variant>

#include "base/descriptor.h"
#include "tracker/udp_packet.h"

namespace sluice::bench {
namespace {

namespace udp = tracker::udp;

constexpr std::size_t kLanes = 8;
/// In flight on each. All of them fit into the receive buffer of a server that asks for no more.
constexpr std::size_t kWindow = 16;
/// What is not answered by then is lost.
constexpr int kPatienceMs = 5'000;
constexpr int kConnectPatienceMs = 100;
constexpr int kConnectTries = 100;
constexpr Duration kConnectPause = std::chrono::milliseconds(20);

}  // namespace

/// A socket and what is in flight on it.
class UdpLoad::Lane {
 public:
  Lane() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    for (std::size_t i = 0; i < kWindow; ++i) {
      out_pieces_[i] = {out_[i].data(), out_[i].size()};
      in_pieces_[i] = {in_[i].data(), in_[i].size()};
      out_headers_[i].msg_hdr.msg_iov = &out_pieces_[i];
      out_headers_[i].msg_hdr.msg_iovlen = 1;
      in_headers_[i].msg_hdr.msg_iov = &in_pieces_[i];
      in_headers_[i].msg_hdr.msg_iovlen = 1;
    }
  }

  int fd() const { return socket_.get(); }
  std::size_t in_flight() const { return in_flight_; }
  void give_up() { in_flight_ = 0; }

  Status connect(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      return error(Code::unavailable, std::string("no socket: ") + std::strerror(errno));
    // The tracker may serve HTTP a moment before it serves this.
    for (int i = 0; i < kConnectTries; ++i) {
      if (ask_for_connection()) return {};
      system_clock().sleep_for(kConnectPause, {});
    }
    return error(Code::unavailable, "the tracker gives no connection id");
  }

  /// Fills the window, with `most` at most; how many it took.
  std::size_t send_more(std::uint64_t most, const Next& next) {
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kWindow - in_flight_, most));
    for (std::size_t i = 0; i < count; ++i)
      udp::write(out_[i],
                 udp::AnnounceRequest{
                     .connection = connection_, .transaction = ++transaction_, .announce = next()});
    for (std::size_t done = 0; done < count;) {
      const int sent = sendmmsg(fd(), &out_headers_[done], static_cast<unsigned>(count - done), 0);
      done += sent > 0 ? static_cast<std::size_t>(sent) : 1;
    }
    in_flight_ += count;
    return count;
  }

  Status receive(Announced& all) {
    const int count = recvmmsg(fd(), in_headers_.data(), kWindow, MSG_DONTWAIT, nullptr);
    for (std::size_t i = 0; static_cast<int>(i) < count; ++i) {
      const auto answer =
          udp::read_answer({in_[i].data(), in_headers_[i].msg_len}, udp::Family::v4);
      const auto* announced = answer ? std::get_if<udp::AnnounceAnswer>(&*answer) : nullptr;
      // Asked for twice, the connection id comes twice.
      if (answer && std::holds_alternative<udp::ConnectAnswer>(*answer)) continue;
      if (announced == nullptr) return error(Code::corrupt, "the tracker refuses an announce");
      ++all.answers;
      all.peers += announced->peers.size() / tracker::kCompactBytes4;
      if (in_flight_ > 0) --in_flight_;
    }
    return {};
  }

 private:
  bool ask_for_connection() {
    const std::size_t size = udp::write(out_[0], udp::ConnectRequest{.transaction = 1});
    send(fd(), out_[0].data(), size, 0);
    pollfd one{fd(), POLLIN, 0};
    poll(&one, 1, kConnectPatienceMs);
    const ssize_t got = recv(fd(), in_[0].data(), in_[0].size(), MSG_DONTWAIT);
    if (got < 0) return false;
    const auto answer =
        udp::read_answer({in_[0].data(), static_cast<std::size_t>(got)}, udp::Family::v4);
    const auto* connected = answer ? std::get_if<udp::ConnectAnswer>(&*answer) : nullptr;
    if (connected != nullptr) connection_ = connected->connection;
    return connected != nullptr;
  }

  template <std::size_t kBytes>
  using Packets = std::array<std::array<std::uint8_t, kBytes>, kWindow>;

  const Descriptor socket_;
  std::uint64_t connection_ = 0;
  std::uint32_t transaction_ = 1;
  std::size_t in_flight_ = 0;
  Packets<udp::kAnnounceRequestBytes> out_ = {};
  Packets<udp::kAnswerBytesMax> in_ = {};
  std::array<iovec, kWindow> out_pieces_ = {}, in_pieces_ = {};
  std::array<mmsghdr, kWindow> out_headers_ = {}, in_headers_ = {};
};

UdpLoad::UdpLoad(std::uint64_t seed) : random_(seed) {}
UdpLoad::~UdpLoad() = default;
UdpLoad::UdpLoad(UdpLoad&&) noexcept = default;

Result<UdpLoad> UdpLoad::connect(std::uint16_t port, std::uint64_t seed) {
  UdpLoad load(seed);
  for (std::size_t i = 0; i < kLanes; ++i) {
    load.lanes_.push_back(std::make_unique<Lane>());
    SLUICE_TRY(load.lanes_.back()->connect(port));
  }
  return load;
}

Result<Announced> UdpLoad::run(std::uint64_t count, const Next& next) {
  std::array<pollfd, kLanes> sockets{};
  for (std::size_t i = 0; i < kLanes; ++i) sockets[i] = {lanes_[i]->fd(), POLLIN, 0};
  Announced all;
  for (std::uint64_t unsent = count;;) {
    std::size_t in_flight = 0;
    for (const auto& lane : lanes_) {
      unsent -= lane->send_more(unsent, next);
      in_flight += lane->in_flight();
    }
    if (in_flight == 0) break;
    if (poll(sockets.data(), kLanes, kPatienceMs) > 0) {
      for (std::size_t i = 0; i < kLanes; ++i)
        if (sockets[i].revents != 0) SLUICE_TRY(lanes_[i]->receive(all));
      continue;
    }
    all.lost += in_flight;
    for (const auto& lane : lanes_) lane->give_up();
  }
  if (all.lost * 100 > count)
    return error(Code::unavailable, fmt::format("{} of {} announces are lost", all.lost, count));
  return all;
}

Result<Announced> UdpLoad::enter(const Crowd& crowd) {
  std::uint32_t at = 0;
  return run(std::uint64_t{crowd.hashes} * crowd.peers, [&] {
    const std::uint32_t number = at++;
    return announce_of(crowd.first + number % crowd.hashes, number / crowd.hashes);
  });
}

Result<Announced> UdpLoad::announce(const Crowd& crowd, std::uint64_t count) {
  return run(count, [&] {
    const auto hash = static_cast<std::uint32_t>(random_.below(crowd.hashes));
    const auto peer = static_cast<std::uint32_t>(random_.below(crowd.peers));
    return announce_of(crowd.first + hash, peer);
  });
}

}  // namespace sluice::bench
